import { isoNow, microsOf } from '../../src/platform/timestamps.js';
import type { TimelineEntry } from '../../src/turns/timeline.js';

/** Shorter gaps are the service's usual work between two steps. */
const MIN_GAP_MICROS = 100_000;
/** The lines of the longest timeline that people read; in the middle of a longer one the shortest parts are left out. */
const MAX_LINES = 60;

interface Line {
  from: number;
  to: number;
  what: string;
  isGap: boolean;
}

type Part = Pick<
  TimelineEntry,
  'type' | 'name' | 'started_at' | 'ended_at' | 'status' | 'step' | 'attempt' | 'action' | 'error'
>;

/**
 * A line for each part of a turn, with its begin since the message and its duration, and for each longer time in which no part
 * ran; then the largest of these gaps. Parts that run at the same time do not hide a gap, nor make one.
 */
export function timelineLines(parts: readonly Part[], turn: { queued_at: string; ended_at: string | null }): string[] {
  if (parts.length === 0) return [];
  const begin = microsOf(turn.queued_at);
  const last = turn.ended_at === null ? null : microsOf(turn.ended_at);
  const end = last ?? microsOf(isoNow());
  const lines: Line[] = [];
  let covered = begin;
  let before = 'the message';
  for (const part of parts) {
    const from = microsOf(part.started_at);
    const to = Math.max(from, part.ended_at === null ? end : microsOf(part.ended_at));
    addGap(lines, covered, from, before, describe(part));
    const state = isLost(part, parts) ? 'lost with its worker' : part.status;
    lines.push({ from, to, what: `${describe(part)}${state === 'ok' ? '' : `  ${state}`}`, isGap: false });
    if (to >= covered) [covered, before] = [to, describe(part)];
  }
  addGap(lines, covered, end, before, last === null ? 'now' : 'the end');
  const gaps = lines.filter(({ isGap }) => isGap);
  const [largest] = gaps.toSorted((one, other) => length(other) - length(one));
  const shown = shorten(lines).map((line) => `+${seconds(line.from - begin)}  ${seconds(length(line))}  ${line.what}`);
  if (shown.length < lines.length) shown.push(`(${lines.length - shown.length} shorter parts are left out)`);
  if (largest === undefined) return [...shown, 'largest gap: none of 0.1 s or more'];
  return [...shown, `largest gap: ${seconds(length(largest)).trim()} ${largest.what}`];
}

/** A model call that another attempt of its step followed, and that the model did not fail. */
function isLost({ type, status, step, attempt, error }: Part, parts: readonly Part[]): boolean {
  if (type !== 'model_call' || status !== 'failed' || error !== null) return false;
  return parts.some((part) => part.type === type && part.step === step && part.attempt === (attempt ?? 0) + 1);
}

function addGap(lines: Line[], from: number, to: number, before: string, after: string): void {
  if (to - from < MIN_GAP_MICROS) return;
  lines.push({ from, to, what: `between ${before} and ${after}`, isGap: true });
}

function shorten(lines: Line[]): Line[] {
  if (lines.length <= MAX_LINES) return lines;
  const longest = new Set(lines.toSorted((one, other) => length(other) - length(one)).slice(0, MAX_LINES));
  return lines.filter((line) => longest.has(line));
}

function describe({ type, name, step, attempt, action }: Part): string {
  const what = type === 'tool_call' ? (name ?? 'a tool that the turn does not offer') : type.replace('_', ' ');
  const forWhat = type === 'wait' && action !== null ? ` for ${action}` : '';
  const place = step === null ? '' : ` of step ${step}`;
  return `${what}${forWhat}${place}${attempt !== null && attempt > 1 ? `, attempt ${attempt}` : ''}`;
}

const length = ({ from, to }: Line): number => to - from;
const seconds = (micros: number): string => `${(micros / 1_000_000).toFixed(3).padStart(9)} s`;
