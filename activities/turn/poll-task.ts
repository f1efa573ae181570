import { closeElicitations, type TaskQuestions } from '../../src/answers/elicitation.js';
import { findTurnServers, type TurnServerRow } from '../../src/mcp/user-credentials.js';
import type { McpConnection } from '../../src/mcp/client.js';
import { loadTask, moveTask, type TaskRow } from '../../src/steps/task-call.js';
import { FIRST_POLL_MS } from '../../src/steps/task-pauses.js';
import { storeStates } from '../../src/steps/task-states.js';
import { taskPolls } from '../../src/platform/metrics.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { loadRunningMs } from '../../src/turns/running-time.js';
import { isLimitReached, type ConcurrencyLimit } from '../concurrency-limit.js';
import type { ActivityDeps } from '../deps.js';
import { askForState, overdueTask } from '../tools/mcp/ask-task.js';
import { serverRemoved } from '../tools/mcp/call.js';
import { endTask, ofServer, pauseOf, storeResult, type End, type Poll } from './end-task.js';
import { noSlot, taskOpen } from './open-task.js';
import type { PollSlots } from './poll-slots.js';
import { remainingMs } from './turn-clock.js';
import { runActivity } from './run-activity.js';
import { showAsking } from '../tools/mcp/call-wait.js';
import { isNew, reportedState } from './task-progress.js';
import { deliverAnswers, dueQuestions, TaskQuestionBasket } from './task-questions.js';
import type { TurnActivities } from './turn-activities.js';

const NO_QUESTIONS: TaskQuestions = { open: 0, expiresInMs: null, undelivered: [] };

/**
 * Asks for the task of a call until it has ended, and stores the result (contract.md §11). An attempt asks once. If the task
 * is open, the attempt fails with the pause before the next one: meanwhile the activity waits in Temporal. The result is read
 * in a slot for tools, since it may take as long as a call.
 */
export function pollTask(deps: ActivityDeps, slots: PollSlots, tools: ConcurrencyLimit): TurnActivities['pollTask'] {
  return (place) =>
    runActivity(
      deps,
      { turn_id: place.turnId, step: place.step, index: place.index },
      async (signal) => {
        const loaded = await loadTask(deps.db, place);
        const { turn, call, task, openTasks } = loaded;
        const endedTask = async (isOverdue: boolean) => ({
          remainingMs: remainingMs(deps, await loadRunningMs(deps.db, turn.id)),
          isOverdue,
        });
        if (call.state === 'done') return endedTask(false);
        // Without its task the tables were restored from a backup.
        if (turn.state !== 'running' || task === null) throw new TurnEndedError(turn.id, turn.state);
        if (task.storedAgoMs < FIRST_POLL_MS) throw taskOpen(FIRST_POLL_MS - task.storedAgoMs, 'The task is working.');
        const poll: Poll = { deps, place, loaded: { ...loaded, task }, signal };
        try {
          const server = await findServer(poll);
          if (typeof server === 'string') return await endedTask(server === 'overdue');
          const answer = endOf(task) ?? (await slots.within(turn.projectId, () => ask(poll, server)));
          if (answer === null) throw noSlot(openTasks);
          await tools
            .within(turn.projectId, () => endTask(poll, server, answer))
            .catch((error: unknown) => {
              throw isLimitReached(error) ? noSlot(openTasks) : error;
            });
          return await endedTask(false);
        } finally {
          await poll.connection?.detach();
        }
      },
      { isPoll: true },
    );
}

/** The server of a task that is not overdue. Else stores the result of the task, which the service gives up. */
async function findServer(poll: Poll): Promise<TurnServerRow | 'overdue' | 'removed'> {
  const { deps, place, loaded } = poll;
  const { turn, call, task } = loaded;
  const { taskTimeoutSeconds } = deps.config;
  const isOverdue = task.ageMs >= taskTimeoutSeconds * 1000;
  const [server] = isOverdue ? [] : await findTurnServers(deps.db, turn.id, [task.serverId]);
  if (server !== undefined) return server;
  if (isOverdue) taskPolls.inc({ outcome: 'overdue' });
  if (task.mayAsk) await closeElicitations(deps, turn.id, place, 'withdrawn');
  const result = isOverdue ? overdueTask(call.name, taskTimeoutSeconds) : serverRemoved(call.name);
  await storeResult(poll, result, !isOverdue);
  return isOverdue ? 'overdue' : 'removed';
}

/** How a task has ended, as `pollTasks` has found; null if it has not. */
function endOf({ status, message }: TaskRow): End | null {
  return status === 'working' || status === 'input_required' ? null : { kind: 'ended', status, message };
}

/** Asks once. @throws ApplicationFailure `TaskOpen` */
async function ask(poll: Poll, server: TurnServerRow): Promise<End> {
  const { deps, place, loaded, signal } = poll;
  const { turn, task } = loaded;
  const withdraw = () => closeElicitations(deps, turn.id, place, 'withdrawn');
  const basket = task.mayAsk ? new TaskQuestionBasket(deps, place, server, signal) : null;
  const opened = (one: McpConnection): void => void (poll.connection = one);
  const questions = basket === null ? NO_QUESTIONS : await dueQuestions(deps, place);
  const answer = await ofServer(poll, askForState(deps, server, task, signal, opened, basket?.onQuestion));
  taskPolls.inc({ outcome: answer.kind });
  if (answer.kind !== 'open') {
    if (questions.open > 0) await withdraw();
    return answer;
  }
  const { status, pollMs } = answer.state;
  if (answer.isNewSession) await moveTask(deps.db, place, poll.connection!.session);
  const one = { ...loaded, index: place.index };
  const reported = reportedState(one, answer.state);
  if (isNew(reported, one)) await storeStates(deps, place, [reported]);
  const message = `The task is ${status}.`;
  if (questions.undelivered.length > 0) {
    await ofServer(poll, deliverAnswers(deps, poll.connection!, questions));
    if (questions.open === 0) void showAsking(deps, place, false);
    throw taskOpen(FIRST_POLL_MS, message);
  }
  if (status !== 'input_required' && questions.open > 0) {
    await withdraw();
    void showAsking(deps, place, false);
  }
  if (status === 'input_required' && questions.open === 0) await basket?.fetch(poll.connection!, task.taskId);
  throw taskOpen(Math.min(pauseOf(poll, pollMs), questions.expiresInMs ?? Infinity), message);
}
