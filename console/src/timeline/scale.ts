import type { TimelineEntry } from '../../../client/src/index.js';

/** What an entry is drawn as; the legend names them. */
export const KINDS = {
  queued: 'Queue',
  connect: 'Connect',
  model_call: 'Model',
  tool_call: 'Tool',
  wait: 'Wait',
} as const satisfies Record<TimelineEntry['type'], string>;

export interface Scale {
  /** Milliseconds since 1970. */
  begin: number;
  end: number;
  /** Marks of the axis, in milliseconds from the begin. */
  ticks: number[];
}

const MAX_TICKS = 3;

/** From the first begin to the last end, which is `now` while something runs. */
export function scaleOf(entries: readonly TimelineEntry[], now: number): Scale {
  const begin = Math.min(...entries.map(({ started_at }) => Date.parse(started_at)));
  const last = Math.max(...entries.map(({ ended_at }) => (ended_at === null ? now : Date.parse(ended_at))));
  const end = Math.max(begin + 1, last);
  const step = stepOf(end - begin);
  const ticks = Array.from({ length: Math.floor((end - begin) / step) + 1 }, (_, index) => index * step);
  return { begin, end, ticks };
}

/** 1, 2 or 5 times a power of ten, so that there are few marks with round numbers. */
function stepOf(span: number): number {
  const rough = span / MAX_TICKS;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough)!;
}

/** The place of an entry, in percent of the scale. */
export function placeOf(
  { started_at, ended_at }: TimelineEntry,
  { begin, end }: Scale,
): { left: number; width: number } {
  const [from, to] = [Date.parse(started_at), ended_at === null ? end : Date.parse(ended_at)];
  const percent = (ms: number): number => (100 * ms) / (end - begin);
  return { left: percent(from - begin), width: percent(Math.max(0, to - from)) };
}

export function durationOf({ started_at, ended_at }: TimelineEntry, now: number): number {
  return (ended_at === null ? now : Date.parse(ended_at)) - Date.parse(started_at);
}
