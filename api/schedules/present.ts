import { JsonText } from '../../src/platform/json-text.js';
import { nextTimes } from '../../src/schedules/calendar/next-times.js';
import { SKIP_REASONS, startOfTimes, timingOf, type Schedule } from '../../src/schedules/schedule.js';
import { presented, timestamp, timestampOrNull } from '../http/core/presenter.js';
import { messageField, overlapField, targetField } from './fields.js';

const MAX_NEXT_RUNS = 5;

export const { schema: runSchema, present: presentRun } = presented('ScheduleRun', {
  scheduled_at: timestamp,
  started_at: { ...timestampOrNull, description: 'Null until its turn starts, and for a skipped run.' },
  state: { type: 'string', enum: ['started', 'skipped'] },
  session_id: { type: ['string', 'null'] },
  turn_id: { type: ['string', 'null'] },
  reason: { type: ['string', 'null'], enum: [...SKIP_REASONS, null], description: 'Why it was skipped.' },
});

const resource = presented('Schedule', {
  id: { type: 'string', pattern: '^sched_' },
  name: { type: ['string', 'null'] },
  cron: { type: ['string', 'null'] },
  at: timestampOrNull,
  timezone: { type: 'string' },
  target: { $id: 'ScheduleTarget', ...targetField },
  message: { $id: 'ScheduleMessage', ...messageField },
  overlap: overlapField,
  end_at: timestampOrNull,
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
});
export const { schema: scheduleSchema } = resource;

export function presentSchedule(schedule: Schedule): Record<string, unknown> {
  return resource.present({
    ...schedule,
    target: new JsonText(schedule.target),
    message: new JsonText(schedule.message),
    next_runs_at: nextRunsOf(schedule),
    last_run: new JsonText(schedule.last_run ?? 'null'),
  });
}

function nextRunsOf(schedule: Schedule): string[] {
  if (schedule.state !== 'active') return [];
  return nextTimes(timingOf(schedule), startOfTimes(schedule), MAX_NEXT_RUNS).map(
    (time) => `${new Date(time).toISOString().slice(0, 19)}.000000Z`,
  );
}
