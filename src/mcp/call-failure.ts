import type { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Cleaner } from './cleaner.js';
import { addressesToOpen } from './questions.js';
import { failureReason, neverReached } from './reasons.js';
import { HttpStatusError } from './transport/errors.js';

/** What the agent, or the person who tries a tool, gets for a call without a result. */

interface CalledTool {
  serverName: string;
  toolName: string;
}

const MAX_ERROR_LENGTH = 4000;

/** The server answered with a protocol error, so the outcome is known. */
export function protocolErrorText(error: McpError, { serverName, toolName }: CalledTool, cleaner: Cleaner): string {
  const addresses = addressesToOpen(error, cleaner);
  if (addresses !== null) return `The MCP server ${serverName} did not run ${toolName}: ${addresses}`;
  const message = cleaner.cleanStart(error.message, MAX_ERROR_LENGTH);
  return `The MCP server ${serverName} answered the call of ${toolName} with an error: ${message}`;
}

/** The server was unreachable, or the connection was lost. `mayHaveRun`: the server may have run the tool. */
export function lostCallText(error: unknown, { serverName, toolName }: CalledTool, mayHaveRun: boolean): string {
  const text = `The call of ${toolName} on the MCP server ${serverName} failed: ${failureReason(error)}.`;
  if (!mayHaveRun) return `${text} It was not carried out.`;
  return `${text} Its outcome is unknown: it may have been carried out. Check before calling it again.`;
}

/** False only if the server refused the request, or it was never sent. Otherwise the tool may have run. */
export function mayHaveRunAfter(error: unknown): boolean {
  if (error instanceof HttpStatusError) return error.status < 300 || error.status >= 500 || error.status === 408;
  return !neverReached(error);
}
