import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type { Database } from '../../src/db/db.js';
import { runSql, sql } from '../../src/db/sql.js';
import { fireSchedule, type FireDeps } from '../../src/schedules/fire.js';
import type { ScheduleActivities } from './schedule-activities.js';

/** How often a firing checks whether its turn has begun, and for how long. */
const BEGUN_INTERVAL_MS = 50;
const MAX_BEGIN_MS = 1000;

export function createScheduleActivities(deps: FireDeps & { catchupSeconds: number }): ScheduleActivities {
  return {
    async fireSchedule({ scheduleId, scheduledAt }) {
      try {
        const { outcome, turnId } = await fireSchedule(deps, scheduleId, scheduledAt);
        if (turnId !== null) await hasBegun(deps.db, turnId);
        return outcome;
      } catch (err) {
        deps.log.warn({ err, schedule_id: scheduleId }, 'a schedule could not be fired yet');
        // A fixed text, because an error message may quote content, and histories must not contain content.
        throw ApplicationFailure.retryable('The schedule was not fired. The worker’s log has the reason.', 'NotFired');
      }
    },
  };
}

/**
 * Waits until a worker has taken the turn, but not for long. The slot of the firing stays taken meanwhile: when the workers
 * of turns are busy, schedules start no more turns than they begin, and messages do not wait behind a burst.
 */
async function hasBegun(db: Database, turnId: string): Promise<void> {
  for (const until = performance.now() + MAX_BEGIN_MS; performance.now() < until;) {
    const queued = await runSql(db, sql`SELECT FROM turns WHERE id = ${turnId} AND state = 'queued'`);
    if (queued.length === 0) return;
    await sleep(BEGUN_INTERVAL_MS);
  }
}
