import type { McpConnection } from '../../../src/mcp/client.js';
import { findServers } from '../../../src/mcp/find-servers.js';
import type { QuestionHandler } from '../../../src/mcp/questions.js';
import { isSessionLost } from '../../../src/mcp/session-lost.js';
import { offersTasks, readCreatedTask, taskParameter } from '../../../src/mcp/tasks.js';
import { findTurnServers, type TurnServerRow } from '../../../src/mcp/user-credentials.js';
import { MAX_TASKS_OF_PROJECT, MAX_TASKS_OF_TURN } from '../../../src/tasks/open.js';
import type { NewTask } from '../../../src/tasks/task.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';
import type { McpServerTool } from './names.js';
import { mcpResult } from './result.js';
import { CredentialRefusedError, sendCall, type CalledServer, type McpToolCall } from './send-call.js';
import { shortMessage } from './tasks/session.js';

/**
 * Calls a tool of an MCP server for a turn, with the server's current credential and allow-list, but with the server name
 * recorded for the turn. Returns the task, if the call became one, or the id of a server that the session's user has to
 * authorize first: it has not run the call.
 * @param reserve counts the call as an open task; returns the limit that is reached
 */
export async function callMcpTool(
  deps: ToolDeps,
  call: McpToolCall,
  tool: McpServerTool,
  reserve: () => Promise<'turn' | 'project' | null>,
): Promise<ToolResult | { task: NewTask } | { unauthorized: string }> {
  const [found]: TurnServerRow[] = tool.asUser
    ? await findTurnServers(deps.db, call.turn.id, [tool.serverId])
    : await findServers(deps.db, call.turn.projectId, [tool.serverId]);
  if (found === undefined) return serverRemoved(tool.name);
  if (found.user_credential === null) return { unauthorized: found.id };
  const onQuestion = call.onQuestion?.(found.id, deps.mcp.cleanerOf(found));
  const server = { ...found, mayAsk: onQuestion !== undefined };
  const canStart = async (): Promise<boolean> =>
    deps.mcp
      .use(server, call.signal, async (connection) => offersTasks(connection))
      // A server that cannot be connected offers nothing; the call itself says why.
      .catch(() => false);
  const isTask = tool.mayBeTask && (await canStart());
  const full = isTask ? await reserve() : null;
  if (full !== null) return tooManyTasks(tool.name, full);
  try {
    return await (isTask ? callAsTask : callDirectly)(call, server, tool.toolName, deps, onQuestion);
  } catch (error) {
    if (!(error instanceof CredentialRefusedError)) throw error;
    return { unauthorized: found.id };
  }
}

/**
 * Calls a tool and waits for its answer. The call is sent again if the server has lost the MCP session, and so did not run it. A server
 * that may ask gets a session for each call, so that it is known which call a question belongs to.
 */
export function callDirectly(
  call: McpToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
  onQuestion?: QuestionHandler,
): Promise<ToolResult> {
  const { mcp } = deps;
  const { signal } = call;
  return sendCall(call, server, toolName, deps, {
    send: async (callTool, state) => {
      if (onQuestion !== undefined) {
        const own = await mcp.openOwn(server, signal, onQuestion);
        try {
          return await callTool(own);
        } finally {
          await own.close();
        }
      }
      const answer = await mcp.use(server, signal, async (connection, retire) => {
        try {
          return await callTool(connection);
        } catch (error) {
          if (!(await isSessionLost(connection, error, signal))) throw error;
          retire();
          state.sent = false;
          return null;
        }
      });
      return answer ?? mcp.use(server, signal, callTool);
    },
    read: (answer, cleaner) => mcpResult(answer, call, deps, cleaner),
  });
}

/**
 * Calls a tool as a task, in an MCP session of its own: the session has to stay for as long as the task runs. Returns the
 * task, or the result of a server that answers at once.
 */
async function callAsTask(
  call: McpToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
  onQuestion?: QuestionHandler,
): Promise<{ task: NewTask } | ToolResult> {
  let own: McpConnection | undefined;
  let isKept = false;
  try {
    return await sendCall(call, server, toolName, deps, {
      parameters: taskParameter(deps.config.taskTimeoutSeconds),
      send: async (callTool) => {
        await own?.close();
        own = await deps.mcp.openOwn(server, call.signal, onQuestion);
        return callTool(own);
      },
      read: async (answer, cleaner) => {
        const task = readCreatedTask(answer);
        if (task === null) return mcpResult(answer, call, deps, cleaner);
        isKept = true;
        return {
          task: { ...task, message: shortMessage(cleaner, task.message), serverId: server.id, session: own!.session },
        };
      },
    });
  } finally {
    await (isKept ? own?.detach() : own?.close());
  }
}

function tooManyTasks(name: string, full: 'turn' | 'project'): ToolResult {
  const text =
    full === 'turn'
      ? `This call of ${name} was not sent: ${MAX_TASKS_OF_TURN} calls of this turn already run as tasks, which is the limit. ` +
        'Call it again after you have their results.'
      : `This call of ${name} was not sent: ${MAX_TASKS_OF_PROJECT} calls of this project already run as tasks, which is the limit. ` +
        'Call it again later, or go on without it.';
  return textResult(text, true);
}

export function serverRemoved(toolName: string): ToolResult {
  return textResult(`The server of ${toolName} was removed.`, true);
}
