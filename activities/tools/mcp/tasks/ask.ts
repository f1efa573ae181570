import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import type { Cleaner } from '../../../../src/mcp/cleaner.js';
import type { McpConnection } from '../../../../src/mcp/client.js';
import { withDeadline } from '../../../../src/mcp/deadline.js';
import { addressesToOpen, type QuestionHandler } from '../../../../src/mcp/questions.js';
import { withLargeAnswer } from '../../../../src/mcp/large-answer.js';
import { isSessionLost } from '../../../../src/mcp/session-lost.js';
import { answerRefused, failureReason } from '../../../../src/mcp/reasons.js';
import { getTask, getTaskResult, isUnknownTask, type OpenTaskState } from '../../../../src/mcp/tasks.js';
import { callLimits, MAX_ANSWER_VALUES } from '../../../../src/mcp/transport/answer-body.js';
import type { OpenTask, TaskRow } from '../../../../src/tasks/task.js';
import { textResult, type ToolDeps, type ToolResult } from '../../tool.js';
import { mcpResult } from '../result.js';
import { shortMessage } from './session.js';
import { askInSession } from './session.js';

const MAX_ERROR_LENGTH = 4000;

/** What a question about a task came to. `isNewSession`: its MCP session was lost. */
export type TaskAnswer =
  | { kind: 'open'; state: OpenTaskState; isNewSession: boolean }
  | { kind: 'ended'; status: 'completed' | 'failed' | 'cancelled'; message: string | null; isNewSession: boolean }
  | { kind: 'unknown' };

/** Asks for the state of a task. @throws if the server is away */
export async function askForState(
  deps: ToolDeps,
  server: TurnServerRow,
  task: TaskRow,
  signal: AbortSignal,
  opened: (connection: McpConnection) => void,
  onQuestion?: QuestionHandler,
): Promise<TaskAnswer> {
  let isNewSession = false;
  const open = (connection: McpConnection, isNew: boolean): void => {
    isNewSession = isNew && task.session !== null;
    opened(connection);
  };
  try {
    const ask = (connection: McpConnection, bounded: AbortSignal) => getTask(connection, task.taskId, bounded);
    const state = await askInSession(deps, server, task, signal, open, ask, onQuestion);
    const message = shortMessage(deps.mcp.cleanerOf(server), state.message);
    const { status } = state;
    if (status === 'working' || status === 'input_required') {
      return { kind: 'open', state: { ...state, status, message }, isNewSession };
    }
    return { kind: 'ended', status, message, isNewSession };
  } catch (error) {
    if (isUnknownTask(error)) return { kind: 'unknown' };
    throw error;
  }
}

/** Fetches the result of a task that has ended, in the form of any tool result. @throws if the server is away */
export async function fetchResult(
  deps: ToolDeps,
  turn: { id: string; projectId: string },
  { call, task }: Pick<OpenTask, 'call' | 'task'>,
  server: TurnServerRow,
  connection: McpConnection,
  { status, message }: Omit<Extract<TaskAnswer, { kind: 'ended' }>, 'isNewSession'>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const cleaner = deps.mcp.cleanerOf(server);
  const share = { memory: deps.memory, projectId: turn.projectId, signal, maxValues: MAX_ANSWER_VALUES };
  try {
    return await withLargeAnswer(share, (onLarge) =>
      withDeadline(deps.config.toolTimeoutSeconds, signal, async (bounded) => {
        const options = { limits: callLimits(), onLarge, exactNumbers: true };
        const answer = await getTaskResult(connection, task.taskId, bounded, options);
        const place = { turn: { id: turn.id }, toolUseId: call.toolUseId, signal: bounded };
        const result = await mcpResult(answer, place, deps, cleaner);
        return status === 'completed' ? result : withoutSuccess(call.name, status, message, result);
      }),
    );
  } catch (error) {
    if (error instanceof McpError && !(await isSessionLost(connection, error, signal)))
      return textResult(refusal(call.name, status, message, error, cleaner), true);
    // Asked again, the server would send the same.
    if (answerRefused(error)) return unreadableResult(call.name, failureReason(error));
    throw error;
  }
}

export function unknownTask(name: string): ToolResult {
  return textResult(
    `The task of this call of ${name} is unknown to its server, so the outcome of the call is unknown. ` +
      'It may have taken effect. It was not sent again; check before you repeat it.',
    true,
  );
}

export function overdueTask(name: string, seconds: number): ToolResult {
  return textResult(
    `The task of this call of ${name} did not finish within ${seconds} s. Its server was asked to cancel it. Its outcome is unknown.`,
    true,
  );
}

/** `reason`: a clause about the server. Without it, reading the result has taken several workers down. */
export function unreadableResult(name: string, reason?: string): ToolResult {
  const why = reason === undefined ? '' : `: ${reason}`;
  return textResult(`The task of this call of ${name} has ended, but its result could not be read${why}.`, true);
}

function withoutSuccess(name: string, status: string, message: string | null, result: ToolResult): ToolResult {
  const text = `The task of this call of ${name} ${ended(status, message)}.`;
  return { ...result, content: [{ type: 'text', text }, ...result.content], isError: true };
}

function refusal(name: string, status: string, message: string | null, error: McpError, cleaner: Cleaner): string {
  const said = addressesToOpen(error, cleaner) ?? cleaner.cleanStart(error.message, MAX_ERROR_LENGTH);
  if (status === 'completed') return `The task of this call of ${name} ended with an error: ${said}`;
  return `The task of this call of ${name} ${ended(status, message)}. Its server says: ${said}`;
}

function ended(status: string, message: string | null): string {
  const how = status === 'failed' ? 'failed' : 'was cancelled by its server';
  return message === null ? how : `${how}: ${message}`;
}
