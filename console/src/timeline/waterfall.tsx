import { useEffect, useState } from 'preact/hooks';
import type { TimelineEntry } from '../../../client/src/index.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatDuration, formatMoney, formatNumber } from '../parts/format.js';
import { memo } from '../parts/memo.js';
import { formatToolName } from '../parts/tool-name.js';
import { durationOf, KINDS, placeOf, scaleOf, type Scale } from './scale.js';
import { useTimeline } from './use-timeline.js';

interface Props {
  sessionId: string;
  turnId: string;
  isOpen: boolean;
  onChoose: (entry: TimelineEntry) => void;
}

/** So many rows are drawn at once; a button draws more. */
const ROWS = 150;

/** What a turn did when: a row with a bar for each part, on one scale. */
export function Waterfall({ sessionId, turnId, isOpen, onChoose }: Props) {
  const { entries, error } = useTimeline(sessionId, turnId, isOpen);
  const [rows, setRows] = useState(ROWS);
  const now = useNow(isOpen);
  if (entries === null) {
    return error === null ? <p class="hint">Reading the timeline …</p> : <ErrorNote error={error} />;
  }
  if (entries.length === 0) return null;
  const scale = scaleOf(entries, now);
  const total = scale.end - scale.begin;
  return (
    <figure class="waterfall" aria-label={`Timeline of the turn: ${formatDuration(total)}`}>
      <figcaption>
        <Legend entries={entries} now={now} />
      </figcaption>
      <div class="axis" aria-hidden="true">
        {scale.ticks.map((tick) => (
          <span key={tick} style={{ left: `${(100 * tick) / total}%` }}>
            {tick === 0 ? '0' : formatDuration(tick)}
          </span>
        ))}
      </div>
      <ol>
        {entries.slice(0, rows).map((entry) => (
          <Row
            key={`${entry.type} ${entry.started_at} ${entry.tool_use_id ?? entry.message_id ?? ''}`}
            entry={entry}
            begin={scale.begin}
            end={scale.end}
            state={`${entry.status} ${entry.ended_at}`}
            onChoose={onChoose}
          />
        ))}
      </ol>
      {entries.length > rows && (
        <button class="quiet" onClick={() => setRows(rows + ROWS)}>
          Show {formatNumber(Math.min(ROWS, entries.length - rows))} more of {formatNumber(entries.length)}
        </button>
      )}
      <ErrorNote error={error} />
    </figure>
  );
}

interface RowProps {
  entry: TimelineEntry;
  begin: Scale['begin'];
  end: Scale['end'];
  /** What of the entry can change. */
  state: string;
  onChoose: (entry: TimelineEntry) => void;
}

const Row = memo(
  function Row({ entry, begin, end, onChoose }: RowProps) {
    const { left, width } = placeOf(entry, { begin, end, ticks: [] });
    const duration = formatDuration(durationOf(entry, end));
    const first = entry.first_token_ms === undefined ? null : (100 * entry.first_token_ms) / (end - begin);
    return (
      <li>
        <button
          class={`entry ${entry.type} ${entry.status}`}
          title={describe(entry, end)}
          onClick={() => onChoose(entry)}
        >
          <span class="entry-name clip">
            <span class="swatch" /> {nameOf(entry)}
          </span>
          <span class="track">
            <span class="bar" style={{ left: `${left}%`, width: `max(3px, ${width}%)` }} />
            {first !== null && <span class="first-token" style={{ left: `${left + first}%` }} />}
          </span>
          <span class="entry-time">{entry.status === 'running' ? 'running' : duration}</span>
          {entry.status === 'failed' && <span class="visually-hidden">failed</span>}
          {entry.status === 'cancelled' && <span class="visually-hidden">cancelled</span>}
        </button>
      </li>
    );
  },
  ['entry', 'onChoose'],
);

export function nameOf({ type, name, model_id, action, attempt }: TimelineEntry): string {
  switch (type) {
    case 'queued':
      return 'Queue';
    case 'connect':
      return 'Connect MCP servers';
    case 'model_call':
      return attempt === undefined || attempt === 1 ? (model_id ?? 'Model') : `${model_id} · attempt ${attempt}`;
    case 'tool_call':
      return formatToolName(name ?? '');
    case 'wait':
      return `${WAITS[action ?? ''] ?? action}${name === undefined ? '' : ` · ${formatToolName(name)}`}`;
  }
}

const WAITS: Record<string, string> = {
  tool_confirmation: 'Permission',
  custom_tool_result: 'Your tool',
  elicitation: 'Question',
  budget: 'Budget',
};

function describe(entry: TimelineEntry, now: number): string {
  const { usage, cost, error, first_token_ms: first } = entry;
  return [
    `${nameOf(entry)}: ${formatDuration(durationOf(entry, now))}, ${entry.status}`,
    ...(first === undefined ? [] : [`first token after ${formatDuration(first)}`]),
    ...(usage === undefined
      ? []
      : [`${formatNumber(usage.input_tokens)} tokens in, ${formatNumber(usage.output_tokens)} out`]),
    ...(cost === undefined ? [] : [formatMoney(cost)]),
    ...(error === undefined ? [] : [`${error.type}: ${error.message}`]),
  ].join('\n');
}

/** The kinds that occur, each with the time that at least one of them took. */
function Legend({ entries, now }: { entries: readonly TimelineEntry[]; now: number }) {
  const kinds = Object.entries(KINDS) as [TimelineEntry['type'], string][];
  const times = kinds
    .map(([type, label]) => ({ type, label, of: entries.filter((entry) => entry.type === type) }))
    .filter(({ of }) => of.length > 0);
  return (
    <ul class="legend">
      {times.map(({ type, label, of }) => (
        <li key={type} class={type}>
          <span class="swatch" /> {label} <span class="hint">{formatDuration(coveredMs(of, now))}</span>
        </li>
      ))}
    </ul>
  );
}

/** Calls that run together count once. */
export function coveredMs(entries: readonly TimelineEntry[], now: number): number {
  let covered = 0;
  let until = -Infinity;
  for (const entry of entries) {
    const from = Math.max(until, Date.parse(entry.started_at));
    const to = Date.parse(entry.started_at) + durationOf(entry, now);
    covered += Math.max(0, to - from);
    until = Math.max(until, to);
  }
  return covered;
}

function useNow(active: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!active) return setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}
