import { findTurnServers, type TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import type { Cleaner } from '../../../../src/mcp/cleaner.js';
import type { McpConnection } from '../../../../src/mcp/client.js';
import { withDeadline } from '../../../../src/mcp/deadline.js';
import type { QuestionHandler } from '../../../../src/mcp/questions.js';
import { isSessionLost } from '../../../../src/mcp/session-lost.js';
import { cancelTask, isUnknownTask } from '../../../../src/mcp/tasks.js';
import type { NewTask } from '../../../../src/tasks/task.js';
import type { ToolDeps } from '../../tool.js';

const MAX_MESSAGE_LENGTH = 1000;

/** A server's text about a task, without its secrets and short enough for an event. */
export function shortMessage(cleaner: Cleaner, message: string | null): string | null {
  return message === null ? null : cleaner.cleanStart(message, MAX_MESSAGE_LENGTH);
}

/** decisions.md "Tasks and elicitation": what one question about a task may take. */
export const POLL_SECONDS = 20;

type SessionTask = Pick<NewTask, 'taskId' | 'session'>;

/**
 * Makes a request about a task in the MCP session that it belongs to. If the server no longer knows the session, makes it
 * in a new one. The caller closes or detaches the connection, also after an error.
 */
export async function askInSession<T>(
  { mcp }: Pick<ToolDeps, 'mcp'>,
  server: TurnServerRow,
  { session }: SessionTask,
  cancelled: AbortSignal,
  opened: (connection: McpConnection, isNew: boolean) => void,
  ask: (connection: McpConnection, signal: AbortSignal) => Promise<T>,
  onQuestion?: QuestionHandler,
): Promise<T> {
  return withDeadline(POLL_SECONDS, cancelled, async (signal) => {
    const open = async (): Promise<McpConnection> => {
      const connection = await mcp.openOwn(server, signal, onQuestion);
      opened(connection, true);
      return connection;
    };
    if (session === null) return ask(await open(), signal);
    const connection = await mcp.resume(server, session, onQuestion);
    opened(connection, false);
    try {
      return await ask(connection, signal);
    } catch (error) {
      if (!(await isSessionLost(connection, error, signal))) throw error;
      await connection.detach();
      return ask(await open(), signal);
    }
  });
}

/**
 * Tells the server to cancel a task, and ends its MCP session. A task that the server does not know, or that has ended,
 * needs no cancel.
 * @throws if the server does not answer
 */
export async function cancelOnServer(
  deps: Pick<ToolDeps, 'mcp' | 'db'>,
  task: SessionTask & { turnId: string; serverId: string },
  signal: AbortSignal,
): Promise<void> {
  const [server] = await findTurnServers(deps.db, task.turnId, [task.serverId]);
  if (server === undefined) return;
  let used: McpConnection | undefined;
  let isDone = false;
  try {
    await askInSession(
      deps,
      server,
      task,
      signal,
      (connection) => (used = connection),
      (connection, bounded) => cancelTask(connection, task.taskId, bounded),
    ).catch((error: unknown) => {
      if (!isUnknownTask(error)) throw error;
    });
    isDone = true;
  } finally {
    await (isDone ? used?.close() : used?.detach());
  }
}
