import { findServers } from '../../../src/mcp/find-servers.js';
import { offersTasks } from '../../../src/mcp/tasks.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';
import { callMcpTool, type McpToolCall } from './call.js';
import type { McpServerTool } from './names.js';
import { startMcpTask, type StartedTask } from './start-task.js';

/**
 * Calls a tool of an MCP server for a turn, with the server's current credential and allow-list, but with the server name
 * recorded for the turn. Returns the task, if the call became one.
 */
export async function callTurnMcpTool(
  deps: ToolDeps,
  call: McpToolCall,
  tool: McpServerTool,
): Promise<ToolResult | { task: StartedTask }> {
  const [found] = await findServers(deps.db, call.turn.projectId, [tool.serverId]);
  if (found === undefined) return serverRemoved(tool.name);
  const onQuestion = call.onQuestion?.(found.id, deps.mcp.cleanerOf(found));
  const server = { ...found, mayAsk: onQuestion !== undefined };
  const canStart = async (): Promise<boolean> =>
    deps.mcp
      .use(server, call.signal, async (connection) => offersTasks(connection))
      // A server that cannot be connected offers nothing; the call itself says why.
      .catch(() => false);
  const start = tool.mayBeTask && (await canStart()) ? startMcpTask : callMcpTool;
  return start(call, server, tool.toolName, deps, onQuestion);
}

export function serverRemoved(toolName: string): ToolResult {
  return textResult(`The server of ${toolName} was removed.`, true);
}
