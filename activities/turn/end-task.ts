import type { Db } from '../../src/db/db.js';
import type { TurnServerRow } from '../../src/mcp/user-credentials.js';
import type { McpConnection } from '../../src/mcp/client.js';
import { failureReason } from '../../src/mcp/reasons.js';
import { isOpen } from '../../src/mcp/tasks.js';
import { beginTaskRead, endTaskRead, markEnded, type TaskCall, type TaskRow } from '../../src/steps/task-call.js';
import { pollPause } from '../../src/steps/task-pauses.js';
import { storeStates } from '../../src/steps/task-states.js';
import { taskPolls } from '../../src/platform/metrics.js';
import type { CallPlace } from '../../src/turns/facts.js';
import type { ActivityDeps } from '../deps.js';
import { fetchResult, unknownTask, unreadableResult, type TaskAnswer } from '../tools/mcp/ask-task.js';
import { storeToolResult, type ToolResult } from '../../src/steps/tool-call.js';
import { taskOpen } from './open-task.js';
import { storeWithRetries } from '../../src/steps/store-with-retries.js';
import { MAX_LOST_WORKERS } from '../../src/steps/lost-workers.js';

type OpenTaskCall = TaskCall & { task: TaskRow };

/** Of a task that has ended on its server, or that the server does not know. */
export type End = Exclude<TaskAnswer, { kind: 'open' }>;

/** One attempt to poll a task alone. */
export interface Poll {
  deps: ActivityDeps;
  place: CallPlace;
  loaded: OpenTaskCall;
  signal: AbortSignal;
  /** The newest one; closed or detached at the end. */
  connection?: McpConnection;
}

export function pauseOf({ deps, loaded: { task, openTasks } }: Poll, pollMs = task.pollMs): number {
  return Math.min(pollPause({ ...task, pollMs }, openTasks), deps.config.taskTimeoutSeconds * 1000 - task.ageMs);
}

/** @throws ApplicationFailure `TaskOpen` if the server is away */
export async function ofServer<T>(poll: Poll, question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    poll.signal.throwIfAborted();
    poll.deps.log.info({ turn_id: poll.place.turnId, reason: failureReason(error) }, 'the server of a task is away');
    taskPolls.inc({ outcome: 'away' });
    throw taskOpen(pauseOf(poll), 'The task is on a server that is away.');
  }
}

/** Stores the result of a task that has ended, and ends its MCP session. @throws ApplicationFailure `TaskOpen` */
export async function endTask(poll: Poll, server: TurnServerRow, answer: End): Promise<void> {
  const { deps, place, loaded, signal } = poll;
  const { call, task } = loaded;
  const { mcp } = deps;
  const fetch = async (how: Extract<End, { kind: 'ended' }>): Promise<ToolResult> => {
    poll.connection ??= await (task.session === null ? mcp.openOwn(server, signal) : mcp.resume(server, task.session));
    return fetchResult(deps, loaded, server, poll.connection, how, signal);
  };
  const fetchOrAsk = (how: Extract<End, { kind: 'ended' }>): Promise<ToolResult> =>
    fetch(how).catch(async (error: unknown) => {
      // Asks the next time, which finds out whether the server has lost the MCP session.
      if (!isOpen(task))
        await storeStates(deps, place, [{ ...task, index: place.index, status: 'working', event: null }]);
      throw error;
    });
  const result =
    answer.kind === 'unknown'
      ? unknownTask(call.name)
      : await read(deps, place, loaded, () => ofServer(poll, fetchOrAsk(answer)));
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

export function storeResult(
  { deps, place, loaded: { call, task }, signal }: Poll,
  result: ToolResult,
  hasEnded: boolean,
): Promise<void> {
  const row = { ...place, ...call, input: {}, action: null, authorization: null, mayAsk: task.mayAsk };
  const stored = { ...result, ...(hasEnded && { commit: (tx: Db) => markEnded(tx, place) }) };
  return storeWithRetries(() => storeToolResult(deps, row, stored), signal);
}
