import { findServers } from '../../../src/mcp/find-servers.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';
import type { QuestionHandler } from '../../../src/mcp/questions.js';
import { callMcpTool, sendCall, type CalledServer, type McpToolCall } from './call.js';
import type { McpServerTool } from './names.js';
import { mcpResult } from './result.js';
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
  const onQuestion = call.onQuestion?.(server.id, deps.mcp.cleanerOf(server));
  if (tool.mayBeTask && (await offersTasks(deps, call, server))) {
    return startMcpTask(call, server, tool.toolName, deps, onQuestion);
  }
  if (onQuestion === undefined) return callMcpTool(call, server, tool.toolName, deps);
  return callInOwnSession(call, server, tool.toolName, deps, onQuestion);
}

/** A server that may ask gets a session for each call, so that it is known which call a question belongs to. */
function callInOwnSession(
  call: McpToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
  onQuestion: QuestionHandler,
): Promise<ToolResult> {
  return sendCall(call, server, toolName, deps, {
    send: async ({ signal, callTool }, { mcp }) => {
      const connection = await mcp.openOwn(server, signal, onQuestion);
      try {
        return await callTool(connection);
      } finally {
        await connection.close();
      }
    },
    read: (answer, cleaner) => mcpResult(answer, call, deps, cleaner),
  });
}

export function serverRemoved(toolName: string): ToolResult {
  return textResult(`The server of ${toolName} was removed.`, true);
}

/** A server that cannot be connected offers nothing; the call itself says why. */
function offersTasks(deps: ToolDeps, call: McpToolCall, server: CalledServer): Promise<boolean> {
  return serverOffersTasks(deps, server, call.signal).catch(() => false);
}
