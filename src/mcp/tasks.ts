import { ErrorCode, McpError, type Task } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject } from '../platform/json-object.js';
import { isStorableText } from '../platform/text.js';
import type { McpConnection } from './client.js';
import type { RequestOptions } from './transport/request.js';
import { McpProtocolError } from './transport/errors.js';
import { shortLimits } from './transport/answer-body.js';

/** Tasks are experimental in MCP 2025-11-25 and in its SDK. This file is all that knows their messages. */

export type TaskStatus = Task['status'];

export type OpenTaskState = TaskState & { status: 'working' | 'input_required' };

/** How a tool may be called as a task. Absent: it may not. */
type TaskSupport = 'required' | 'optional';

export interface TaskState {
  status: TaskStatus;
  /** The server's own text, unlimited and with secrets that it may echo; null without one. */
  message: string | null;
  /** Pause before the next question, within the limits. */
  pollMs: number;
}

const STATUSES: readonly string[] = [
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
] satisfies TaskStatus[];
/** The service keeps the id for as long as the task runs, and sends it with each question. */
const MAX_ID_LENGTH = 1024;
const MIN_POLL_MS = 1000;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 5000;

export function taskSupportOf(execution: unknown): TaskSupport | undefined {
  const { taskSupport } = asJsonObject(execution);
  return taskSupport === 'required' || taskSupport === 'optional' ? taskSupport : undefined;
}

export function offersTasks({ capabilities }: McpConnection): boolean {
  return capabilities?.tasks?.requests?.tools?.call !== undefined;
}

/** The parameter that makes a call a task, which the server keeps for `ttlSeconds`. */
export function taskParameter(ttlSeconds: number): { task: { ttl: number } } {
  return { task: { ttl: Math.round(ttlSeconds * 1000) } };
}

/**
 * The task in the answer to a call; null if the server has answered with a result.
 * @throws McpProtocolError if its id cannot be used
 */
export function readCreatedTask(answer: Record<string, unknown>): (TaskState & { taskId: string }) | null {
  const { task } = answer;
  if (typeof task !== 'object' || task === null || Array.isArray(answer.content)) return null;
  const { taskId } = task as Record<string, unknown>;
  if (typeof taskId !== 'string' || taskId === '') throw new McpProtocolError('its task has no id');
  if (taskId.length > MAX_ID_LENGTH)
    throw new McpProtocolError(`its task has an id of more than ${MAX_ID_LENGTH} characters`);
  if (!isStorableText(taskId)) throw new McpProtocolError('its task has an id that cannot be stored');
  return { taskId, ...readState(task as Record<string, unknown>) };
}

/** Asks for the state of a task. @throws McpError, see `isUnknownTask` */
export async function getTask(connection: McpConnection, taskId: string, signal: AbortSignal): Promise<TaskState> {
  const answer = await connection.request('tasks/get', { taskId }, signal, {
    limits: shortLimits(),
  });
  return readState(answer);
}

/** Fetches what the call would have returned. The answer is open until the task ends. */
export function getTaskResult(
  connection: McpConnection,
  taskId: string,
  signal: AbortSignal,
  options: RequestOptions,
): Promise<Record<string, unknown>> {
  return connection.request('tasks/result', { taskId }, signal, options);
}

export async function cancelTask(connection: McpConnection, taskId: string, signal: AbortSignal): Promise<void> {
  await connection.request('tasks/cancel', { taskId }, signal, { limits: shortLimits() });
}

export function isOpen({ status }: Pick<TaskState, 'status'>): boolean {
  return status === 'working' || status === 'input_required';
}

export function isUnknownTask(error: unknown): boolean {
  return error instanceof McpError && error.code === (ErrorCode.InvalidParams as number);
}

/** A status that MCP does not know counts as `working`: the task has not ended. */
function readState({ status, statusMessage, pollInterval }: Record<string, unknown>): TaskState {
  return {
    status: typeof status === 'string' && STATUSES.includes(status) ? (status as TaskStatus) : 'working',
    message: typeof statusMessage === 'string' && statusMessage !== '' ? statusMessage : null,
    pollMs:
      typeof pollInterval === 'number' && Number.isFinite(pollInterval)
        ? Math.round(Math.min(Math.max(pollInterval, MIN_POLL_MS), MAX_POLL_MS))
        : DEFAULT_POLL_MS,
  };
}
