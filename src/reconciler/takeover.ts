import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { StartedActivity } from '../temporal/turn-workflows.js';
import { checkAgain } from './check-again.js';
import type { ReconcileDeps } from './deps.js';
import type { Lease } from '../db/lease.js';
import { deadAmong, findDeadWorkers, forgetWorker } from './workers.js';

const MAX_PARALLEL = 32;

/**
 * Has Temporal retry the activities of dead workers at once, on living ones. A worker is forgotten only after Temporal has
 * answered for each of its activities; until then every round tries again.
 */
export async function takeOver(deps: ReconcileDeps, leader: Lease): Promise<void> {
  const { db, workflows, log, count } = deps;
  for (const workerId of await findDeadWorkers(db, workflows.namespace, leader)) {
    try {
      const activities = await failActivitiesOf(deps, workerId);
      if (!(await forgetWorker(db, workerId))) continue;
      count('worker_taken_over');
      log.warn({ worker_id: workerId, activities }, 'a worker is dead: its activities go to other workers');
    } catch (err) {
      log.warn({ err, worker_id: workerId }, 'a dead worker could not be taken over, the next round tries again');
    }
  }
}

/** Returns the number of activities that Temporal gives to other workers. */
async function failActivitiesOf({ db, workflows }: ReconcileDeps, workerId: string): Promise<number> {
  const activities = await runSql<{ turn_id: string; task_token: Buffer }>(
    db,
    sql`SELECT turn_id, task_token
        FROM open_turns JOIN turns ON turns.id = turn_id JOIN model_attempts a USING (turn_id, position)
        WHERE open_turns.namespace = ${workflows.namespace} AND coalesce(joined_by, worker_id) = ${workerId}
          AND a.ended_at IS NULL AND task_token IS NOT NULL
        UNION ALL
        SELECT turn_id, task_token
        FROM open_turns JOIN turns ON turns.id = turn_id JOIN tool_calls c USING (turn_id)
        WHERE open_turns.namespace = ${workflows.namespace} AND worker_id = ${workerId} AND c.state = 'started'
          AND tools_running > 0`,
  );
  const limit = pLimit(MAX_PARALLEL);
  const results = await Promise.allSettled(
    activities.map(({ task_token }) => limit(() => workflows.failActivity(task_token))),
  );
  const fault = results.find((result) => result.status === 'rejected');
  if (fault !== undefined) throw fault.reason;
  // A worker that stands still has open polls: Temporal may give it the next attempt as well, once for each poll.
  await checkAgain(
    db,
    activities.map(({ turn_id }) => turn_id),
  );
  return results.filter((result) => result.status === 'fulfilled' && result.value).length;
}

/**
 * Takes over the activities of a quiet turn that a dead worker has not recorded: it connected MCP servers, or died before
 * or after a write. `started` is Temporal's answer of just now, because an id names the activity and not its attempt.
 */
export async function takeOverUnrecorded(
  { db, workflows, log, count }: ReconcileDeps,
  turnId: string,
  started: StartedActivity[],
): Promise<void> {
  if (started.length === 0) return;
  const dead = await deadAmong(
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
}
