import { findServers } from '../../../src/mcp/find-servers.js';
import { findTurnServers, type TurnServerRow } from '../../../src/mcp/user-credentials.js';
import { offersTasks } from '../../../src/mcp/tasks.js';
import { MAX_TASKS_OF_PROJECT, MAX_TASKS_OF_TURN } from '../../../src/steps/open-tasks.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';
import { callMcpTool, CredentialRefusedError, type McpToolCall } from './call.js';
import type { McpServerTool } from './names.js';
import { startMcpTask, type StartedTask } from './start-task.js';

/**
 * Calls a tool of an MCP server for a turn, with the server's current credential and allow-list, but with the server name
 * recorded for the turn. Returns the task, if the call became one, or the id of a server that the session's user has to
 * authorize first: it has not run the call.
 * @param reserve counts the call as an open task; returns the limit that is reached
 */
export async function callTurnMcpTool(
  deps: ToolDeps,
  call: McpToolCall,
  tool: McpServerTool,
  reserve: () => Promise<'turn' | 'project' | null>,
): Promise<ToolResult | { task: StartedTask } | { unauthorized: string }> {
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
    return await (isTask ? startMcpTask : callMcpTool)(call, server, tool.toolName, deps, onQuestion);
  } catch (error) {
    if (!(error instanceof CredentialRefusedError)) throw error;
    return { unauthorized: found.id };
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
