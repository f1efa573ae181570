import { forgetFailures } from '../../src/schedules/failures.js';
import { nextRun } from '../../src/schedules/schedule.js';
import { changeSchedule } from '../../src/schedules/store.js';
import { operation } from '../http/core/operation.js';
import { scheduleSchema } from './present.js';
import { change, requireSession, scheduleOfPath } from './resource.js';

export const resumeSchedule = operation({
  id: 'resumeSchedule',
  summary: 'Resume a paused schedule; the count of failed turns starts at 0',
  description: 'Makes a paused schedule active again, from its next time on.',
  idempotent: true,
  success: { status: 200, description: 'The changed schedule.', schema: scheduleSchema },
  errors: ['schedule_not_found', 'session_not_found'],
  resource: scheduleOfPath,
  handle: (call) =>
    change(call, async (tx, schedule) => {
      requireSession(schedule);
      if (schedule.state !== 'paused') return schedule;
      await forgetFailures(tx, schedule.id);
      const next = nextRun(schedule, Date.parse(schedule.next_after));
      return changeSchedule(tx, schedule.id, {
        state: next === null ? 'ended' : 'active',
        paused_reason: null,
        next_run_at: next,
        failures: 0,
      });
    }),
});
