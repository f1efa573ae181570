import { MIB } from '../../src/platform/units.js';
import { MAX_TURNS, type Load, type ProjectLoad } from './read.js';

const MAX_LINES = 20;

const COLUMNS: readonly [title: string, value: (load: ProjectLoad) => number | string][] = [
  ['project', ({ project }) => project],
  ['turns', (load) => load.turns_begun],
  ['queued', (load) => load.turns_queued],
  ['waiting', (load) => load.turns_waiting],
  ['running', (load) => load.turns_running],
  ['model calls', (load) => load.model_calls],
  ['tokens in', (load) => load.input_tokens],
  ['out', (load) => load.output_tokens],
  ['tool calls', (load) => load.tool_calls],
  ['streams', (load) => load.token_streams],
  ['files MiB', (load) => (load.file_bytes / MIB).toFixed(1)],
  ['rows MiB', (load) => (load.row_bytes / MIB).toFixed(1)],
  ['requests this minute', requestsText],
];
const LAST = COLUMNS.length - 1;

/** The table of `npm run top`. */
export function formatLoad({ projects, is_cut }: Load, minutes: number): string {
  const title = `The last ${minutes} minutes, the busiest project first (docs/operations/observing.md says what is not counted)\n`;
  const cut = is_cut ? `Of the window, only the newest ${MAX_TURNS} turns are counted. Ask for fewer --minutes.\n` : '';
  if (projects.length === 0) return `${title}${cut}No project had any load.\n`;
  const shown = projects.slice(0, MAX_LINES);
  const rows = [COLUMNS.map(([name]) => name), ...shown.map((load) => COLUMNS.map(([, value]) => String(value(load))))];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => row.map((cell, column) => padded(cell, column, widths[column]!)).join('  '));
  const hidden = projects.length - shown.length;
  const more = hidden === 0 ? '' : `${hidden} more with less load: --json shows all\n`;
  return `${title}${cut}\n${lines.map((line) => `${line.trimEnd()}\n`).join('')}${more}`;
}

function padded(cell: string, column: number, width: number): string {
  if (column === 0) return cell.padEnd(width);
  return column === LAST ? cell : cell.padStart(width);
}

function requestsText({ requests }: ProjectLoad): string {
  return Object.entries(requests)
    .map(([operation, count]) => `${operation} ${count}`)
    .join(', ');
}
