import { failureReason } from '../../../src/mcp/reasons.js';
import { causesOf } from '../../../src/network/failures.js';
import type { Logger } from '../../../src/platform/logger.js';
import { UnsealError } from '../../../src/platform/sealed.js';

/**
 * Logs the reason instead of the error, because the SDK's messages quote response bodies. A credential that this process cannot open is
 * an error: only an operator can give it the key, and doctor does not see the settings of another process (docs/operations/keys.md).
 */
export function logFailure(
  log: Logger,
  ids: { mcp_server_id: string; turn_id?: string },
  error: unknown,
  message: string,
): void {
  const level = causesOf(error).some((cause) => cause instanceof UnsealError) ? 'error' : 'info';
  log[level]({ ...ids, reason: failureReason(error) }, message);
}
