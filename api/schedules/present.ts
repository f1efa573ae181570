import { JsonText } from '../../src/platform/json-text.js';
import { nextTimes } from '../../src/schedules/calendar/next-times.js';
import type { ListedRun } from '../../src/schedules/runs.js';
import { SKIP_REASONS, timingOf, type Schedule } from '../../src/schedules/schedule.js';
import type { JsonSchema } from '../http/core/operation.js';
import { messageField, overlapField, targetField } from './fields.js';

const timestamp = { type: 'string', format: 'date-time' } as const;
const optionalTimestamp = { type: ['string', 'null'], format: 'date-time' } as const;
const MAX_NEXT_RUNS = 5;

const runProperties = {
  scheduled_at: timestamp,
  started_at: { ...optionalTimestamp, description: 'Null until its turn starts, and for a skipped run.' },
  state: { type: 'string', enum: ['started', 'skipped'] },
  session_id: { type: ['string', 'null'] },
  turn_id: { type: ['string', 'null'] },
  reason: { type: ['string', 'null'], enum: [...SKIP_REASONS, null], description: 'Why it was skipped.' },
} as const;

/** A run of a schedule (docs/contract.md §12). */
export const runSchema = {
  $id: 'ScheduleRun',
  type: 'object',
  properties: runProperties,
  required: Object.keys(runProperties),
  additionalProperties: false,
} as const satisfies JsonSchema;

const properties = {
  id: { type: 'string', pattern: '^sched_' },
  name: { type: ['string', 'null'] },
  cron: { type: ['string', 'null'] },
  at: optionalTimestamp,
  timezone: { type: 'string' },
  target: { $id: 'ScheduleTarget', ...targetField },
  message: { $id: 'ScheduleMessage', ...messageField },
  overlap: overlapField,
  end_at: optionalTimestamp,
  state: { type: 'string', enum: ['active', 'paused', 'ended'] },
  paused_reason: {
    type: ['string', 'null'],
    enum: ['session_deleted', 'failures', null],
    description: 'Why the service paused it; null if a client paused it.',
  },
  next_runs_at: { type: 'array', items: timestamp, description: 'The next five, or as many as there are.' },
  last_run: { anyOf: [runSchema, { type: 'null' }], description: 'The newest run.' },
  created_at: timestamp,
  updated_at: timestamp,
} as const;

/** The schedule resource (docs/contract.md §12). */
export const scheduleSchema = {
  $id: 'Schedule',
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
} as const satisfies JsonSchema;

export function presentSchedule(schedule: Schedule): Record<string, unknown> {
  return {
    id: schedule.id,
    name: schedule.name,
    cron: schedule.cron,
    at: schedule.at,
    timezone: schedule.timezone,
    target: new JsonText(schedule.target),
    message: new JsonText(schedule.message),
    overlap: schedule.overlap,
    end_at: schedule.end_at,
    state: schedule.state,
    paused_reason: schedule.paused_reason,
    next_runs_at: nextRunsOf(schedule),
    last_run: new JsonText(schedule.last_run ?? 'null'),
    created_at: schedule.created_at,
    updated_at: schedule.updated_at,
  };
}

function nextRunsOf(schedule: Schedule): string[] {
  if (schedule.state !== 'active') return [];
  return nextTimes(timingOf(schedule), Date.now(), MAX_NEXT_RUNS).map(
    (time) => `${new Date(time).toISOString().slice(0, 19)}.000000Z`,
  );
}

export function presentRun(run: ListedRun): Record<string, unknown> {
  return {
    scheduled_at: run.scheduled_at,
    started_at: run.started_at,
    state: run.state,
    session_id: run.session_id,
    turn_id: run.turn_id,
    reason: run.reason,
  };
}
