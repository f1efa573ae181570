import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { abandonedTasks, markCancelled } from '../../src/steps/abandoned-tasks.js';
import { failureReason } from '../../src/mcp/reasons.js';
import type { ActivityDeps } from '../deps.js';
import { cancelOnServer } from '../tools/mcp/task-session.js';
import type { TurnActivities } from './turn-activities.js';

/** Tasks of one turn whose servers are asked in parallel. */
const PARALLEL = 16;

/**
 * Tells the servers of a turn's abandoned tasks to cancel them. It is no `runActivity`: the cancel request of the turn, which
 * is why it runs, must not abort it. Temporal tries it again for as long as the workflow says.
 */
export function cancelTasks(deps: ActivityDeps): TurnActivities['cancelTasks'] {
  return async ({ turnId }) => {
    const { cancellationSignal } = Context.current();
    const tasks = await abandonedTasks(deps.db, turnId);
    let left = tasks.length;
    for (let start = 0; start < tasks.length; start += PARALLEL) {
      await Promise.all(
        tasks.slice(start, start + PARALLEL).map(async (task) => {
          try {
            await cancelOnServer(deps, task, cancellationSignal);
            await markCancelled(deps.db, task);
            left -= 1;
          } catch (error) {
            const reason = failureReason(error);
            deps.log.info(
              { turn_id: turnId, mcp_server_id: task.serverId, reason },
              'a task could not be cancelled yet',
            );
          }
        }),
      );
    }
    if (left > 0) throw ApplicationFailure.retryable('Servers of the turn’s tasks are away.', 'ServersAway');
  };
}
