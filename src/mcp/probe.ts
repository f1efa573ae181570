import type { McpTool } from '../db/entities/mcp-servers.js';
import { ServiceError } from '../platform/errors.js';
import { storableText } from '../platform/text.js';
import { withDeadline } from './deadline.js';
import { McpConnection } from './client.js';
import { UnsafeAddressError, type McpNetwork } from '../network/network.js';
import type { RequestAuth } from './request-auth.js';
import { failureReason } from './reasons.js';
import { privateAddress } from '../network/server-url.js';
import { Cleaner } from './cleaner.js';
import { keepTools, listTools } from './tools.js';
import type { OnLarge } from './wire/answer-body.js';
import { Pacer } from './wire/pacer.js';

/** Time limit of a whole probe (docs/limits.md). */
export const PROBE_SECONDS = 60;
/** Messages that the server may send unasked during a probe. */
const UNASKED_BURST = 200;
const UNASKED_PER_SECOND = 20;
const MAX_SERVER_NAME_LENGTH = 256;

export interface ProbeResult {
  tools: McpTool[];
  serverName: string | null;
}

/**
 * Connects once and lists the tools.
 * @throws ServiceError `mcp_probe_failed` with the reason, `invalid_mcp_server_url` if the address is not public
 */
export async function probeServer(
  network: McpNetwork,
  url: URL,
  authorize: () => RequestAuth,
  { seconds = PROBE_SECONDS, onLarge }: { seconds?: number; onLarge?: OnLarge } = {},
): Promise<ProbeResult> {
  try {
    return await withDeadline(seconds, null, async (signal) => {
      const auth = authorize();
      const pacer = new Pacer(UNASKED_BURST, UNASKED_PER_SECOND);
      const connection = await McpConnection.open({ url, auth, network, listen: false, pacer }, signal);
      try {
        const listed = await listTools(connection, signal, onLarge);
        const cleaner = new Cleaner(() => auth.secrets());
        const tools = await keepTools(listed, cleaner);
        const name = connection.serverName;
        return { tools, serverName: name === null ? null : cleaner.cleanStart(name, MAX_SERVER_NAME_LENGTH) };
      } finally {
        await connection.close();
      }
    });
  } catch (error) {
    if (error instanceof Error && error.cause instanceof UnsafeAddressError) throw privateAddress();
    throw new ServiceError('mcp_probe_failed', storableText(`The MCP server cannot be used: ${failureReason(error)}.`));
  }
}
