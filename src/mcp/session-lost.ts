import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { McpConnection } from './client.js';

/**
 * True if the request failed because the server does not know its session, so that it was not processed: HTTP 404 by
 * the protocol. Many servers answer 400 instead; then a ping in the same session must fail in the same way.
 */
export async function isSessionLost(connection: McpConnection, error: unknown, signal: AbortSignal): Promise<boolean> {
  if (!connection.hasSession || !(error instanceof StreamableHTTPError)) return false;
  if (error.code !== 400) return error.code === 404;
  return connection.ping(signal).then(
    () => false,
    (second: unknown) => second instanceof StreamableHTTPError && (second.code === 400 || second.code === 404),
  );
}
