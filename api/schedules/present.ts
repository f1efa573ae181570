import { JsonText } from '../../src/platform/json-text.js';
import { described, orNull } from '../../src/platform/object-schema.js';
import { idField, idOrNull, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { nextTimes } from '../../src/schedules/calendar/next-times.js';
import { SKIP_REASONS, startOfTimes, timingOf, type Schedule } from '../../src/schedules/schedule.js';
import { presented } from '../http/core/presenter.js';
import { messageField, overlapField, shownTarget } from './fields.js';

const MAX_NEXT_RUNS = 5;

const runExample = {
  scheduled_at: '2026-11-23T07:00:00.000000Z',
  started_at: '2026-11-23T07:00:00.123456Z',
  state: 'started',
  session_id: 'ses_01kafyw0a1b2c3d4e5f6g7h8j9',
  turn_id: 'turn_01kafyw0k1m2n3p4q5r6s7t8v9',
  reason: null,
};

export const { schema: runSchema, present: presentRun } = presented(
  'ScheduleRun',
  'What happened at a time of a schedule.',
  {
    scheduled_at: described(timestamp, 'The time of the schedule.'),
    started_at: described(timestampOrNull, 'Null until its turn starts, and for a skipped run.'),
    state: {
      $id: 'ScheduleRunState',
      type: 'string',
      enum: ['started', 'skipped'],
      description: '`started`: the message was sent, or waits. `skipped`: it was not; see `reason`.',
    },
    session_id: idOrNull('session', 'Id of the session that got the message; null for a skipped run.'),
    turn_id: idOrNull('turn', 'Id of the turn of the message; null for a skipped run.'),
    reason: orNull(
      {
        $id: 'SkipReason',
        type: 'string',
        enum: SKIP_REASONS,
        description:
          '`missed`: the service was away. `session_running`: the session had an open turn. `too_many_running_turns`: the project was at its limit. `queue_full`: too many messages of the session waited. `storage_limit_reached`: the project has no room left. `not_found`: something that the schedule names is gone.',
      },
      'Why it was skipped; null otherwise.',
    ),
  },
  runExample,
);

const resource = presented(
  'Schedule',
  'A message that is sent at given times.',
  {
    id: idField('schedule', 'Id of the schedule.'),
    name: { type: ['string', 'null'], description: 'Its name for people.' },
    cron: { type: ['string', 'null'], description: 'Its times as a cron expression; null if it has `at`.' },
    at: described(timestampOrNull, 'Its single time; null if it has `cron`.'),
    timezone: described(text, 'IANA time zone of `cron`.'),
    target: shownTarget,
    message: messageField,
    overlap: overlapField,
    end_at: described(timestampOrNull, 'The last time, inclusive; null without an end.'),
    state: {
      $id: 'ScheduleState',
      type: 'string',
      enum: ['active', 'paused', 'ended'],
      description: '`active`: it has a next time. `paused`: until it is resumed. `ended`: it has no further times.',
    },
    paused_reason: orNull(
      {
        $id: 'PausedReason',
        type: 'string',
        enum: ['session_deleted', 'failures'],
        description:
          '`session_deleted`: its session is gone. `failures`: too many of its turns failed, one after the other.',
      },
      'Why the service paused it; null if it is not paused, or a client paused it.',
    ),
    next_runs_at: { type: 'array', items: timestamp, description: 'The next five, or as many as there are.' },
    last_run: {
      anyOf: [runSchema, { type: 'null' }],
      description: 'The newest run; null without one.',
    },
    created_at: described(timestamp, 'When it was created.'),
    updated_at: described(timestamp, 'When it was last changed.'),
  },
  {
    id: 'sched_01kag8t2q3w4e5r6t7y8u9i0o1',
    name: 'Daily report',
    cron: '0 8 * * MON-FRI',
    at: null,
    timezone: 'Europe/Berlin',
    target: { type: 'new_session', session: { model_id: 'claude-sonnet-5-5' } },
    message: { content: 'Which orders are late?' },
    overlap: 'skip',
    end_at: null,
    state: 'active',
    paused_reason: null,
    next_runs_at: ['2026-11-24T07:00:00.000000Z', '2026-11-25T07:00:00.000000Z'],
    last_run: runExample,
    created_at: '2026-11-20T10:00:00.000001Z',
    updated_at: '2026-11-20T10:00:00.000001Z',
  },
);
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
