import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import pLimit from 'p-limit';
import { abandonedTasks, markCancelled, type AbandonedTask } from '../../../../src/tasks/abandoned.js';
import { failureReason } from '../../../../src/mcp/reasons.js';
import type { ToolDeps } from '../../tool.js';
import type { Places } from './places.js';
import { cancelOnServer } from './session.js';

type CancelDeps = Pick<ToolDeps, 'mcp' | 'db' | 'log'>;

/** Tasks of one turn whose servers are asked in parallel. */
const PARALLEL = 16;

/**
 * Tells the servers of a turn's abandoned tasks to cancel them. It is no `runActivity`: the cancel request of the turn, which
 * is why it runs, must not abort it. Temporal tries it again for as long as the workflow says. It shares the places of polls:
 * many turns that are cancelled while their server hangs must not take those of other turns.
 */
export function cancelTasks(deps: CancelDeps, places: Places): (input: { turnId: string }) => Promise<void> {
  return async ({ turnId }) => {
    const { cancellationSignal } = Context.current();
    const tasks = await abandonedTasks(deps.db, turnId);
    const [first] = tasks;
    if (first === undefined) return;
    const left = await places.tryWithin(first.projectId, () => cancelAll(deps, tasks, cancellationSignal));
    if (left === null) throw ApplicationFailure.retryable('The slots for the project are in use.', 'SlotsTaken');
    if (left > 0) throw ApplicationFailure.retryable('Servers of the turn’s tasks are away.', 'ServersAway');
  };
}

/** Returns how many could not be cancelled. */
async function cancelAll(deps: CancelDeps, tasks: AbandonedTask[], signal: AbortSignal): Promise<number> {
  let left = tasks.length;
  await pLimit(PARALLEL).map(tasks, async (task) => {
    try {
      await cancelOnServer(deps, task, signal);
      await markCancelled(deps.db, task);
      left -= 1;
    } catch (error) {
      const reason = failureReason(error);
      deps.log.info(
        { turn_id: task.turnId, mcp_server_id: task.serverId, reason },
        'a task could not be cancelled yet',
      );
    }
  });
  return left;
}
