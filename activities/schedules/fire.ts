import { ApplicationFailure } from '@temporalio/common';
import { fireSchedule, type FireDeps } from '../../src/schedules/fire.js';
import type { ScheduleActivities } from './schedule-activities.js';

export function createScheduleActivities(deps: FireDeps & { catchupSeconds: number }): ScheduleActivities {
  return {
    async fireSchedule({ scheduleId, scheduledAt }) {
      try {
        return await fireSchedule(deps, scheduleId, scheduledAt);
      } catch (err) {
        deps.log.warn({ err, schedule_id: scheduleId }, 'a schedule could not be fired yet');
        // A fixed text, because an error message may quote content, and histories must not contain content.
        throw ApplicationFailure.retryable('The schedule was not fired. The worker’s log has the reason.', 'NotFired');
      }
    },
  };
}
