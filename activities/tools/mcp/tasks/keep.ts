import pRetry from 'p-retry';
import { storeTask, type NewTask } from '../../../../src/tasks/task.js';
import type { ToolCallRow } from '../../../../src/steps/tool-call.js';
import type { AttemptId } from '../../../../src/steps/model-call.js';
import type { TurnDeps } from '../../../../src/turns/change-turn.js';
import type { ToolDeps } from '../../tool.js';
import { cancelOnServer } from './session.js';

/** decisions.md "Tasks and elicitation": how long `tasks/cancel` is tried. */
const CANCEL_TIMEOUT_MS = 30_000;
const RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 1000, factor: 1.5, maxTimeout: 5000 };

/**
 * Stores the task of a call. If it cannot be stored, mostly because the turn has ended, the server is asked to cancel it:
 * nothing else knows of it.
 * @param store retries while Postgres is away
 */
export async function keepTask(
  deps: TurnDeps & ToolDeps,
  call: ToolCallRow,
  task: NewTask,
  attempt: AttemptId,
  store: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  try {
    await store(() => storeTask(deps, call, task, attempt));
  } catch (error) {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    const cancel = () => cancelOnServer(deps, { ...task, turnId: call.turnId }, signal);
    await pRetry(cancel, { ...RETRY, signal }).catch((err: unknown) =>
      deps.log.warn({ err, turn_id: call.turnId }, 'a task that could not be stored was not cancelled'),
    );
    throw error;
  }
}
