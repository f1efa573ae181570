import { findServer } from '../../src/mcp/store.js';
import type { ActivityDeps } from '../deps.js';
import { callMcpTool, type OfferedTool } from './mcp.js';
import { textResult, type ToolCall, type ToolResult } from './tool.js';

/**
 * Calls a tool of an MCP server for a turn: with the server's credential and allow-list of this moment, under the name
 * that the turn knows it by.
 */
export async function callTurnMcpTool(deps: ActivityDeps, call: ToolCall, tool: OfferedTool): Promise<ToolResult> {
  const server = await findServer(deps.db, call.turn.projectId, tool.serverId);
  if (server === undefined) return textResult(`The server of ${tool.name} was removed.`, true);
  return callMcpTool(call, server, tool.toolName, deps);
}
