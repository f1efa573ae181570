import type { Db } from '../../../../src/db/db.js';
import { failureReason } from '../../../../src/mcp/reasons.js';
import type { McpConnection } from '../../../../src/mcp/client.js';
import type { TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import { closeElicitations } from '../../../../src/waits/question.js';
import { taskPolls } from '../../../../src/platform/metrics.js';
import { MAX_LOST_WORKERS } from '../../../../src/steps/lost-workers.js';
import { storeWithRetries } from '../../../../src/steps/store-with-retries.js';
import { beginTaskRead, endTaskRead, markEnded, type OpenTask } from '../../../../src/tasks/task.js';
import { storeStates } from '../../../../src/tasks/states.js';
import { storeToolResult, type ToolResult } from '../../../../src/steps/tool-call.js';
import { showAsking } from '../call-wait.js';
import { fetchResult, unknownTask, unreadableResult, type TaskAnswer } from './ask.js';
import type { TaskDeps } from './places.js';

/** Of a task that has ended on its server, or that the server does not know. */
export type TaskEnd =
  | Omit<Extract<TaskAnswer, { kind: 'ended' }>, 'isNewSession'>
  | Extract<TaskAnswer, { kind: 'unknown' }>;

export interface TasksTurn {
  id: string;
  projectId: string;
  step: number;
}

/** Stores the result of a task that has ended, and ends its MCP session. Returns false if the server is away: it is asked again. */
export async function readResult(
  deps: TaskDeps,
  turn: TasksTurn,
  one: OpenTask,
  server: TurnServerRow,
  end: TaskEnd,
  signal: AbortSignal,
): Promise<boolean> {
  if (end.kind === 'unknown') {
    await storeResult(deps, turn, one, unknownTask(one.call.name), signal);
    return true;
  }
  const { task } = one;
  let connection: McpConnection | undefined;
  try {
    const fetch = async (): Promise<ToolResult> => {
      connection = await (task.session === null
        ? deps.mcp.openOwn(server, signal)
        : deps.mcp.resume(server, task.session));
      return fetchResult(deps, turn, one, server, connection, end, signal);
    };
    const result = await countRead(deps.db, turn, one, () => orNull(deps, turn, one, fetch(), signal));
    if (result === null) return false;
    await storeResult(deps, turn, one, result, signal);
    await connection?.close();
    return true;
  } finally {
    await connection?.detach();
  }
}

/** Reads the result, unless doing so has taken several workers down. */
async function countRead<T>(
  db: TaskDeps['db'],
  turn: TasksTurn,
  { index, call, task }: OpenTask,
  fetch: () => Promise<T>,
): Promise<T | ToolResult> {
  if (task.lostReads >= MAX_LOST_WORKERS) return unreadableResult(call.name);
  const place = { turnId: turn.id, step: turn.step, index };
  await beginTaskRead(db, place);
  try {
    return await fetch();
  } finally {
    await endTaskRead(db, place);
  }
}

/** The next poll asks for the state again, and finds out whether the server has lost the MCP session. */
async function orNull(
  deps: TaskDeps,
  { id: turnId, step }: TasksTurn,
  { index, task }: OpenTask,
  result: Promise<ToolResult>,
  signal: AbortSignal,
): Promise<ToolResult | null> {
  try {
    return await result;
  } catch (error) {
    await storeStates(deps, { turnId, step }, [{ ...task, index, status: 'working', event: null }]);
    signal.throwIfAborted();
    deps.log.info({ turn_id: turnId, index, reason: failureReason(error) }, 'the server of a task is away');
    taskPolls.inc({ outcome: 'away' });
    return null;
  }
}

/** @param hasEnded the server needs no request to cancel the task */
export async function storeResult(
  deps: TaskDeps,
  { id: turnId, step }: TasksTurn,
  { index, call, task }: OpenTask,
  result: ToolResult,
  signal: AbortSignal,
  hasEnded = true,
): Promise<void> {
  const place = { turnId, step, index };
  const withdraw = (): Promise<number> => closeElicitations(deps, turnId, place, 'withdrawn');
  if (task.mayAsk && (await storeWithRetries(withdraw, signal)) > 0) void showAsking(deps, place, false);
  const row = { ...place, ...call, input: {}, wait: null, mayAsk: task.mayAsk };
  const stored = { ...result, ...(hasEnded && { commit: (tx: Db) => markEnded(tx, place) }) };
  await storeWithRetries(() => storeToolResult(deps, row, stored), signal);
}
