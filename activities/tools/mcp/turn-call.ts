import { traced } from '../../../src/platform/tracing.js';
import { findServers } from '../../../src/mcp/find-servers.js';
import type { ActivityDeps } from '../../deps.js';
import { callMcpTool, type OfferedTool } from './call.js';
import { textResult, type ToolCall, type ToolResult } from '../tool.js';

/**
 * Calls a tool of an MCP server for a turn: with the server's credential and allow-list of this moment, under the name
 * that the turn knows it by.
 */
export async function callTurnMcpTool(deps: ActivityDeps, call: ToolCall, tool: OfferedTool): Promise<ToolResult> {
  const [server] = await findServers(deps.db, call.turn.projectId, [tool.serverId]);
  if (server === undefined) return textResult(`The server of ${tool.name} was removed.`, true);
  const attributes = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': tool.toolName, mcp_server_id: server.id };
  return traced(`tools/call ${tool.toolName}`, attributes, async (span) => {
    const result = await callMcpTool(call, server, tool.toolName, deps);
    span.setAttribute('is_error', result.isError);
    return result;
  });
}
