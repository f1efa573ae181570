import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
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
import type { ConcurrencyLimit } from '../concurrency-limit.js';
import type { ActivityDeps } from '../deps.js';
import { askForState, fetchResult, overdueTask, unknownTask, unreadableResult } from '../tools/mcp/ask-task.js';
import { serverRemoved } from '../tools/mcp/call-for-turn.js';
import { storeToolResult } from '../tools/store-call.js';
import type { ToolResult } from '../tools/tool.js';
import { MAX_LOST_WORKERS, runActivity, storeWithRetries } from './run-activity.js';
import { remainingMs } from './remaining.js';
import { deliverAnswers, dueQuestions, TaskQuestionBasket } from './task-questions.js';
import { showAsking } from './show-asking.js';
import { recordState } from './task-progress.js';
import type { TurnActivities } from './turn-activities.js';

/** contract.md §11: the first question, and the pause between questions after a while. */
const FIRST_POLL_MS = 1000;
const SLOW_AFTER_MS = 600_000;
const SLOW_POLL_MS = 60_000;

const NO_QUESTIONS: TaskQuestions = { open: 0, expiresInMs: null, undelivered: [] };

type OpenTaskCall = TaskCall & { task: TaskRow };

/**
 * Asks for the task of a call until it has ended, and stores the result (contract.md §11). An attempt asks once. If the task
 * is open, the attempt fails with the pause before the next one: meanwhile the activity waits in Temporal.
 */
export function pollTask(deps: ActivityDeps, limit: ConcurrencyLimit): TurnActivities['pollTask'] {
  return (place) =>
    runActivity(
      deps,
      { turn_id: place.turnId, step: place.step, index: place.index },
      async (signal) => {
        const loaded = await loadTask(deps.db, place);
        const { turn, call, task } = loaded;
        const left = { remainingMs: remainingMs(deps, turn.runningMs) };
        if (call.state === 'done') return { ...left, isOverdue: false };
        // Without its task the tables were restored from a backup.
        if (turn.state !== 'running' || task === null) throw new TurnEndedError(turn.id, turn.state);
        if (task.storedAgoMs < FIRST_POLL_MS) throw openTask(FIRST_POLL_MS - task.storedAgoMs, 'working');
        const isOverdue = await limit.within(turn.projectId, () => poll(deps, place, { ...loaded, task }, signal));
        return { ...left, isOverdue };
      },
      { isPoll: true },
    );
}

/** The failure of an attempt that has found the task open: Temporal tries again after the pause. Operators see it there. */
function openTask(pauseMs: number, status: string): ApplicationFailure {
  return ApplicationFailure.create({
    message: `The task is ${status}.`,
    type: 'TaskOpen',
    nextRetryDelay: Math.max(1, Math.ceil(pauseMs)),
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** Asks once. Returns whether the task took too long. @throws ApplicationFailure `TaskOpen` */
async function poll(deps: ActivityDeps, place: CallPlace, loaded: OpenTaskCall, signal: AbortSignal): Promise<boolean> {
  const { turn, call, task } = loaded;
  const timeoutMs = deps.config.taskTimeoutSeconds * 1000;
  const store = (result: ToolResult, hasEnded: boolean): Promise<void> =>
    storeWithRetries(() => storeResult(deps, place, loaded, result, hasEnded), signal);
  const pauseMs = (pollMs: number): number =>
    Math.min(task.ageMs > SLOW_AFTER_MS ? SLOW_POLL_MS : pollMs, timeoutMs - task.ageMs);
  const ofServer = async <T>(question: Promise<T>): Promise<T> => {
    try {
      return await question;
    } catch (error) {
      signal.throwIfAborted();
      deps.log.info({ turn_id: turn.id, reason: failureReason(error) }, 'the server of a task is away');
      taskPolls.inc({ outcome: 'away' });
      throw openTask(pauseMs(task.pollMs), 'on a server that is away');
    }
  };

  if (task.ageMs >= timeoutMs) {
    taskPolls.inc({ outcome: 'overdue' });
    if (task.mayAsk) await closeElicitations(deps, turn.id, place, 'withdrawn');
    await store(overdueTask(call.name, deps.config.taskTimeoutSeconds), false);
    return true;
  }
  const [server] = await findServers(deps.db, turn.projectId, [task.serverId]);
  if (server === undefined) {
    if (task.mayAsk) await closeElicitations(deps, turn.id, place, 'withdrawn');
    await store(serverRemoved(call.name), true);
    return false;
  }
  let connection: McpConnection | undefined;
  const basket = task.mayAsk ? new TaskQuestionBasket(deps, place, server, signal) : null;
  const opened = (one: McpConnection): void => void (connection = one);
  try {
    const questions = basket === null ? NO_QUESTIONS : await dueQuestions(deps, place);
    const answer = await ofServer(askForState(deps, server, task, signal, opened, basket?.onQuestion));
    taskPolls.inc({ outcome: answer.kind });
    if (answer.kind === 'open') {
      const { status, pollMs } = answer.state;
      if (answer.isNewSession) await moveTask(deps.db, place, connection!.session);
      await recordState(deps, place, loaded, answer.state);
      if (questions.undelivered.length > 0) {
        await ofServer(deliverAnswers(deps, connection!, questions));
        if (questions.open === 0) void showAsking(deps, place, false);
        throw openTask(FIRST_POLL_MS, status);
      }
      if (status !== 'input_required' && questions.open > 0) {
        await closeElicitations(deps, turn.id, place, 'withdrawn');
        void showAsking(deps, place, false);
      }
      if (status === 'input_required' && questions.open === 0) await basket?.fetch(connection!, task.taskId);
      throw openTask(Math.min(pauseMs(pollMs), questions.expiresInMs ?? Infinity), status);
    }
    if (questions.open > 0) await closeElicitations(deps, turn.id, place, 'withdrawn');
    const result =
      answer.kind === 'unknown'
        ? unknownTask(call.name)
        : await read(deps, place, loaded, () =>
            ofServer(fetchResult(deps, loaded, server, connection!, answer, signal)),
          );
    await store(result, true);
    await connection?.close();
    return false;
  } finally {
    await connection?.detach();
  }
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

async function storeResult(
  deps: ActivityDeps,
  place: CallPlace,
  { call, task }: OpenTaskCall,
  result: ToolResult,
  hasEnded: boolean,
): Promise<void> {
  const row = { ...place, ...call, input: {}, action: null, mayAsk: task.mayAsk };
  await storeToolResult(deps, row, { ...result, ...(hasEnded && { commit: (tx) => markEnded(tx, place) }) });
}
