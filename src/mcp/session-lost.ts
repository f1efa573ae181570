import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { McpConnection } from './client.js';
import { SessionRefusedError } from './request-error.js';

/**
 * True if the request failed because the server does not know its session, so that it was not processed: HTTP 404 by
 * the protocol. Other servers answer 400, or with a JSON-RPC error that the tool may have sent, too; then a ping in the
 * same session must fail in the same way.
 */
export async function isSessionLost(connection: McpConnection, error: unknown, signal: AbortSignal): Promise<boolean> {
  if (!connection.hasSession || !isRefusal(error)) return false;
  const isCertain = error instanceof StreamableHTTPError || error.namesSession;
  if (statusOf(error) === 404 && isCertain) return true;
  return connection.ping(signal).then(() => false, isRefusal);
}

type Refusal = StreamableHTTPError | SessionRefusedError;

function isRefusal(error: unknown): error is Refusal {
  if (error instanceof SessionRefusedError) return true;
  return error instanceof StreamableHTTPError && (error.code === 400 || error.code === 404);
}

function statusOf(error: Refusal): number | undefined {
  return error instanceof StreamableHTTPError ? error.code : error.status;
}
