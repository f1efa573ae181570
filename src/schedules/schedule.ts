import { nextTimes, type Timing } from './calendar/next-times.js';

export type ScheduleState = 'active' | 'paused' | 'ended';
type Overlap = 'skip' | 'queue';

export interface Schedule {
  id: string;
  project_id: string;
  /** The key that created it; null for schedules that are older than this field. */
  key_id: string | null;
  name: string | null;
  cron: string | null;
  at: string | null;
  timezone: string;
  /** JSON text. */
  target: string;
  /** The session of a target of type `existing_session`. */
  session_id: string | null;
  /** JSON text: a body of POST messages. */
  message: string;
  overlap: Overlap;
  end_at: string | null;
  state: ScheduleState;
  paused_reason: 'session_deleted' | 'failures' | null;
  next_run_at: string | null;
  failures: number;
  version: number;
  synced_version: number;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  /** The time by Postgres' clock, which decides for every schedule, when the row was read. */
  now: string;
  /** JSON text of the newest run; null without one. */
  last_run: string | null;
}

export const SKIP_REASONS = [
  'missed',
  'session_running',
  'too_many_running_turns',
  'queue_full',
  'storage_limit_reached',
  'not_found',
  'workspace_unavailable',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export type TimingFields = Pick<Schedule, 'cron' | 'at' | 'timezone' | 'end_at'>;

export function timingOf({ cron, at, timezone, end_at: endAt }: TimingFields): Timing {
  return { cron, timezone, at: timeOf(at), endAt: timeOf(endAt) };
}

function timeOf(timestamp: string | null): number | null {
  return timestamp === null ? null : Date.parse(timestamp);
}

export function nextRun(timing: TimingFields, after: number): string | null {
  const [next] = nextTimes(timingOf(timing), after, 1);
  return next === undefined ? null : new Date(next).toISOString();
}

/** The times that are shown, and that Temporal gets, are later than this: those from `next_run_at` on that are not over. */
export function startOfTimes({ now, next_run_at: next }: Pick<Schedule, 'now' | 'next_run_at'>): number {
  return Math.max(Date.parse(now), next === null ? 0 : Date.parse(next) - 1);
}
