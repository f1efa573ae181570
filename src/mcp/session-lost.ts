import type { McpConnection } from './client.js';
import { HttpStatusError } from './transport/errors.js';
import { SessionRefusedError } from './transport/server-error.js';

/**
 * True if the request failed because the server does not know its session, so that it was not processed: HTTP 404 by
 * the protocol. Other servers answer 400, or with a JSON-RPC error that the tool may have sent, too; then a ping in the
 * same session must fail in the same way.
 */
export async function isSessionLost(connection: McpConnection, error: unknown, signal: AbortSignal): Promise<boolean> {
  if (!connection.hasSession || !isRefusal(error)) return false;
  const isCertain = error instanceof HttpStatusError || error.namesSession;
  if (error.status === 404 && isCertain) return true;
  return connection.ping(signal).then(() => false, isRefusal);
}

type Refusal = HttpStatusError | SessionRefusedError;

function isRefusal(error: unknown): error is Refusal {
  if (error instanceof SessionRefusedError) return true;
  return error instanceof HttpStatusError && (error.status === 400 || error.status === 404);
}
