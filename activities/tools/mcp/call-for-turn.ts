import { findServers } from '../../../src/mcp/find-servers.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';
import { callMcpTool, type CalledServer, type McpToolCall } from './call.js';
import type { McpServerTool } from './names.js';
import { serverOffersTasks, startMcpTask, type StartedTask } from './start-task.js';

/**
 * Calls a tool of an MCP server for a turn, with the server's current credential and allow-list, but with the server name
 * recorded for the turn. Returns the task, if the call became one.
 */
export async function callTurnMcpTool(
  deps: ToolDeps,
  call: McpToolCall,
  tool: McpServerTool,
): Promise<ToolResult | { task: StartedTask }> {
  const [server] = await findServers(deps.db, call.turn.projectId, [tool.serverId]);
  if (server === undefined) return serverRemoved(tool.name);
  const isTask = tool.mayBeTask && (await offersTasks(deps, call, server));
  return (isTask ? startMcpTask : callMcpTool)(call, server, tool.toolName, deps);
}

export function serverRemoved(toolName: string): ToolResult {
  return textResult(`The server of ${toolName} was removed.`, true);
}

/** A server that cannot be connected offers nothing; the call itself says why. */
function offersTasks(deps: ToolDeps, call: McpToolCall, server: CalledServer): Promise<boolean> {
  return serverOffersTasks(deps, server, call.signal).catch(() => false);
}
