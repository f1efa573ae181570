import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { isSessionLost, type McpConnection } from '../../src/mcp/client.js';
import { failureReason, neverReached } from '../../src/mcp/reasons.js';
import { credentialOf } from '../../src/mcp/store.js';
import { cleanerFor, cut, type Clean } from '../../src/mcp/tools.js';
import type { ConnectTarget } from './mcp-connections.js';
import { isAllowed } from './mcp-names.js';
import { mcpResult } from './mcp-result.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from './tool.js';

export { isAllowed, mcpToolName, mcpToolsOf, type OfferedTool, type ToolSource } from './mcp-names.js';

/** A result whose call may have been carried out although no answer came. */
export interface McpToolResult extends ToolResult {
  outcomeUnknown?: true;
}

/** What a call needs to know of its server; `allowed_tools` and `tools` as of the turn's start. */
export type CalledServer = ConnectTarget & Pick<McpServerRow, 'name' | 'allowed_tools' | 'tools'>;

const MAX_ERROR_LENGTH = 4000;

/**
 * Calls a tool of an MCP server once (contract.md §3 "Tool calls"): sent again only when the server has lost its session
 * and so has not looked at the call. Faults of the call are results that say what the model can do about it.
 * @throws the signal's reason when `call.signal` aborts; `notifications/cancelled` is on its way then
 */
export async function callMcpTool(
  call: ToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
): Promise<McpToolResult> {
  if (!isAllowed(server, toolName) || !server.tools.some(({ name }) => name === toolName)) {
    return textResult(`The MCP server ${server.name} offers no tool ${toolName} here.`, true);
  }
  const attempt = { sent: false };
  try {
    const clean = cleanerFor(credentialOf(deps.config.encryptionKeys, server).secret);
    try {
      return await mcpResult(await sendOnce(call, server, toolName, deps, attempt), call, deps, clean);
    } catch (error) {
      if (error instanceof McpError) return refused(error, server.name, toolName, clean);
      throw error;
    }
  } catch (error) {
    call.signal.throwIfAborted();
    return failed(error, attempt.sent && mayHaveRun(error), server.name, toolName);
  }
}

async function sendOnce(
  call: ToolCall,
  server: CalledServer,
  toolName: string,
  { mcp }: ToolDeps,
  attempt: { sent: boolean },
): Promise<Record<string, unknown>> {
  const send = (connection: McpConnection): Promise<Record<string, unknown>> => {
    attempt.sent = true;
    return connection.callTool(toolName, call.input, {
      signal: call.signal,
      idempotencyKey: call.idempotencyKey,
      onProgress: call.progress,
    });
  };
  const answer = await mcp.use(server, call.signal, async (connection, retire) => {
    try {
      return await send(connection);
    } catch (error) {
      if (!(await isSessionLost(connection, error, call.signal))) throw error;
      retire();
      attempt.sent = false;
      return null;
    }
  });
  return answer ?? mcp.use(server, call.signal, send);
}

/** The server, or the SDK on its behalf, answered with an error of the protocol: the outcome is known. */
function refused(error: McpError, serverName: string, toolName: string, clean: Clean): McpToolResult {
  if (error.code === (ErrorCode.ConnectionClosed as number)) throw error;
  return textResult(
    `The MCP server ${serverName} answered the call of ${toolName} with an error: ${cut(clean(error.message), MAX_ERROR_LENGTH)}`,
    true,
  );
}

function failed(error: unknown, outcomeUnknown: boolean, serverName: string, toolName: string): McpToolResult {
  const reason = `The call of ${toolName} on the MCP server ${serverName} failed: ${failureReason(error)}.`;
  if (!outcomeUnknown) return textResult(`${reason} It was not carried out.`, true);
  const warning = 'Its outcome is unknown: it may have been carried out. Check before calling it again.';
  return { ...textResult(`${reason} ${warning}`, true), outcomeUnknown: true };
}

/** Only a refusal before the call was looked at rules out that it was carried out. */
function mayHaveRun(error: unknown): boolean {
  if (error instanceof StreamableHTTPError) {
    const { code = 0 } = error;
    return code < 300 || code >= 500 || code === 408;
  }
  return !neverReached(error);
}
