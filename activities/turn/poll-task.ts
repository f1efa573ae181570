import { closeElicitations, type TaskQuestions } from '../../src/answers/elicitation.js';
import { findServers } from '../../src/mcp/find-servers.js';
import type { McpConnection } from '../../src/mcp/client.js';
import { failureReason } from '../../src/mcp/reasons.js';
import {
  beginTaskRead,
  endTaskRead,
  loadTask,
  markEnded,
  moveTask,
  type CallPlace,
  type TaskCall,
  type TaskRow,
} from '../../src/steps/task-call.js';
import { taskPolls } from '../../src/platform/metrics.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import { isLimitReached, type ConcurrencyLimit } from '../concurrency-limit.js';
import type { ActivityDeps } from '../deps.js';
import {
  askForState,
  fetchResult,
  type TaskAnswer,
  overdueTask,
  unknownTask,
  unreadableResult,
} from '../tools/mcp/ask-task.js';
import { serverRemoved } from '../tools/mcp/call-for-turn.js';
import { storeToolResult } from '../tools/store-call.js';
import type { ToolResult } from '../tools/tool.js';
import { MAX_LOST_WORKERS, runActivity, storeWithRetries } from './run-activity.js';
import { remainingMs } from './remaining.js';
import { deliverAnswers, dueQuestions, TaskQuestionBasket } from './task-questions.js';
import { showAsking } from './show-asking.js';
import { isNew, reportedState } from './task-progress.js';
import type { TurnActivities } from './turn-activities.js';
import { noSlot, taskOpen } from './open-task.js';
import type { PollSlots } from './poll-slots.js';
import { FIRST_POLL_MS, pollPause } from '../../src/steps/task-pauses.js';
import { storeStates } from '../../src/steps/task-states.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { Db } from '../../src/db/transaction.js';

const NO_QUESTIONS: TaskQuestions = { open: 0, expiresInMs: null, undelivered: [] };

type OpenTaskCall = TaskCall & { task: TaskRow };

/** A task that has ended on its server, or that the server does not know. */
interface Ended {
  server: McpServerRow;
  answer: Exclude<TaskAnswer, { kind: 'open' }>;
}

interface Poll {
  deps: ActivityDeps;
  place: CallPlace;
  loaded: OpenTaskCall;
  signal: AbortSignal;
  /** The newest one; closed or detached at the end. */
  connection?: McpConnection;
}

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
        const left = { remainingMs: remainingMs(deps, turn.runningMs) };
        if (call.state === 'done') return { ...left, isOverdue: false };
        // Without its task the tables were restored from a backup.
        if (turn.state !== 'running' || task === null) throw new TurnEndedError(turn.id, turn.state);
        if (task.storedAgoMs < FIRST_POLL_MS) throw taskOpen(FIRST_POLL_MS - task.storedAgoMs, 'The task is working.');
        const poll: Poll = { deps, place, loaded: { ...loaded, task }, signal };
        try {
          const polled = await slots.within(turn.projectId, () => ask(poll));
          if (polled === null) throw noSlot(openTasks);
          if (typeof polled === 'string') return { ...left, isOverdue: polled === 'overdue' };
          const read = tools.within(turn.projectId, () => end(poll, polled));
          await read.catch((error: unknown) => {
            throw isLimitReached(error) ? noSlot(openTasks) : error;
          });
          return { ...left, isOverdue: false };
        } finally {
          await poll.connection?.detach();
        }
      },
      { isPoll: true },
    );
}

function pauseOf({ deps, loaded: { task, openTasks } }: Poll, pollMs = task.pollMs): number {
  return Math.min(pollPause({ ...task, pollMs }, openTasks), deps.config.taskTimeoutSeconds * 1000 - task.ageMs);
}

/** @throws ApplicationFailure `TaskOpen` if the server is away */
async function ofServer<T>(poll: Poll, question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    poll.signal.throwIfAborted();
    poll.deps.log.info({ turn_id: poll.place.turnId, reason: failureReason(error) }, 'the server of a task is away');
    taskPolls.inc({ outcome: 'away' });
    throw taskOpen(pauseOf(poll), 'The task is on a server that is away.');
  }
}

/** Asks once. Stores the result of a task that the service gives up. @throws ApplicationFailure `TaskOpen` */
async function ask(poll: Poll): Promise<'overdue' | 'removed' | Ended> {
  const { deps, place, loaded, signal } = poll;
  const { turn, call, task } = loaded;
  const withdraw = () => closeElicitations(deps, turn.id, place, 'withdrawn');
  if (task.ageMs >= deps.config.taskTimeoutSeconds * 1000) {
    taskPolls.inc({ outcome: 'overdue' });
    if (task.mayAsk) await withdraw();
    await storeResult(poll, overdueTask(call.name, deps.config.taskTimeoutSeconds), false);
    return 'overdue';
  }
  const [server] = await findServers(deps.db, turn.projectId, [task.serverId]);
  if (server === undefined) {
    if (task.mayAsk) await withdraw();
    await storeResult(poll, serverRemoved(call.name), true);
    return 'removed';
  }
  const basket = task.mayAsk ? new TaskQuestionBasket(deps, place, server, signal) : null;
  const opened = (one: McpConnection): void => void (poll.connection = one);
  const questions = basket === null ? NO_QUESTIONS : await dueQuestions(deps, place);
  const answer = await ofServer(poll, askForState(deps, server, task, signal, opened, basket?.onQuestion));
  taskPolls.inc({ outcome: answer.kind });
  if (answer.kind !== 'open') {
    if (questions.open > 0) await withdraw();
    return { server, answer };
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

/** Stores the result of a task that has ended, and ends its MCP session. @throws ApplicationFailure `TaskOpen` */
async function end(poll: Poll, { server, answer }: Ended): Promise<void> {
  const { deps, place, loaded, signal } = poll;
  const result =
    answer.kind === 'unknown'
      ? unknownTask(loaded.call.name)
      : await read(deps, place, loaded, () =>
          ofServer(poll, fetchResult(deps, loaded, server, poll.connection!, answer, signal)),
        );
  await storeResult(poll, result, true);
  await poll.connection?.close();
}

/** Reads the result, unless doing so has taken several workers down. */
async function read(
  { db }: ActivityDeps,
  place: CallPlace,
  { call, task }: OpenTaskCall,
  fetch: () => Promise<ToolResult>,
): Promise<ToolResult> {
  if (task.lostReads >= MAX_LOST_WORKERS) return unreadableResult(call.name);
  await beginTaskRead(db, place);
  try {
    return await fetch();
  } finally {
    await endTaskRead(db, place);
  }
}

function storeResult(
  { deps, place, loaded: { call, task }, signal }: Poll,
  result: ToolResult,
  hasEnded: boolean,
): Promise<void> {
  const row = { ...place, ...call, input: {}, action: null, mayAsk: task.mayAsk };
  const stored = { ...result, ...(hasEnded && { commit: (tx: Db) => markEnded(tx, place) }) };
  return storeWithRetries(() => storeToolResult(deps, row, stored), signal);
}
