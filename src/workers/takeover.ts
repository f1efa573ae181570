import pLimit from 'p-limit';
import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { StartedActivity, TurnWorkflows } from '../temporal/turn-workflows.js';
import type { Logger } from '../platform/logger.js';
import type { Round } from '../platform/rounds.js';
import { checkAgain } from './check-again.js';
import type { Lease } from '../db/lease.js';
import { deadAmong, findDeadWorkers, forgetWorker } from './workers.js';

const MAX_PARALLEL = 32;

export interface TakeOverDeps {
  db: Database;
  workflows: TurnWorkflows;
  log: Logger;
  /** Counts the repairs by action. */
  count: (action: string) => void;
}

/** `leader`: the lease of this process. */
type LeaderDeps = TakeOverDeps & { leader: Lease };

/**
 * Fails the activities of crashed workers now, so that Temporal retries them on other workers. A crashed worker is forgotten
 * only after Temporal has answered for each of its activities; until then every round tries again. Returns the ms until the next
 * lease may run out.
 */
export async function takeOver(deps: LeaderDeps): Promise<number | null> {
  const { db, workflows, log, count, leader } = deps;
  const { ids, nextMs } = await findDeadWorkers(db, workflows.namespace, leader);
  for (const workerId of ids) {
    try {
      const activities = await failActivitiesOf(deps, workerId);
      if (!(await forgetWorker(db, workerId))) continue;
      count('worker_taken_over');
      log.warn({ worker_id: workerId, activities }, 'a worker is dead: its activities are reassigned');
    } catch (err) {
      log.warn(
        { err, worker_id: workerId },
        'the activities of a dead worker could not be reassigned; the next round tries again',
      );
    }
  }
  return nextMs;
}

export const crashedWorkers: Round<LeaderDeps> = { name: 'crashed workers', everyMs: 500, run: takeOver };

/** Returns the number of reassigned activities. */
async function failActivitiesOf({ db, workflows }: TakeOverDeps, workerId: string): Promise<number> {
  const activities = await runSql<{ turn_id: string; task_token: Buffer }>(
    db,
    sql`SELECT turn_id, task_token
        FROM open_turns JOIN turns ON turns.id = turn_id JOIN model_calls a USING (turn_id, position)
        WHERE open_turns.namespace = ${workflows.namespace} AND worker_id = ${workerId}
          AND a.ended_at IS NULL AND task_token IS NOT NULL
        UNION ALL
        SELECT turn_id, task_token
        FROM open_turns JOIN tool_calls c USING (turn_id)
        WHERE open_turns.namespace = ${workflows.namespace} AND worker_id = ${workerId} AND c.state = 'started'`,
  );
  const limit = pLimit(MAX_PARALLEL);
  const results = await Promise.allSettled(
    activities.map(({ task_token }) => limit(() => workflows.failActivity(task_token))),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  // A paused worker still has open polls: Temporal may send it the next attempt too, once for each poll.
  await checkAgain(
    db,
    activities.map(({ turn_id }) => turn_id),
  );
  return results.filter((result) => result.status === 'fulfilled' && result.value).length;
}

/**
 * Reassigns activities that a crashed worker has not recorded: it was connecting MCP servers, or died before or after a write.
 * `started` must be a fresh answer of Temporal, because an id names the activity and not its attempt.
 */
export async function takeOverUnrecorded(
  { db, workflows, log, count }: TakeOverDeps,
  turnId: string,
  started: StartedActivity[],
): Promise<void> {
  if (started.length === 0) return;
  const { dead, late } = await deadAmong(
    db,
    started.map(({ workerId }) => workerId),
  );
  for (const { activityId, workerId } of started) {
    if (!dead.has(workerId) || !(await workflows.failActivity({ workflowId: turnId, activityId }))) continue;
    await checkAgain(db, [turnId]);
    count('activity_taken_over');
    log.warn(
      { turn_id: turnId, worker_id: workerId },
      'the worker of an activity is gone: the activity goes to another',
    );
  }
  // The usual next check of a turn that has made no progress for long, as after a restore, is minutes away.
  if (late.size > 0) await checkAgain(db, [turnId]);
}
