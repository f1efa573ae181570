import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { failureReason } from '../../src/mcp/reasons.js';
import { recordConnection } from '../../src/mcp/store.js';
import type { ToolDeps } from '../tools/tool.js';

/** How connecting to a server went; `message` is what `agent.mcp_error` and `last_connect_error` say. */
export type ConnectOutcome = { serverId: string; ok: true } | { serverId: string; ok: false; message: string };

/**
 * Connects all servers of a session at the start of a turn, in parallel, one attempt of 8 s each (contract.md §2), and
 * records how it went in their rows. A server that cannot be connected is an outcome, never a fault.
 * @throws the signal's reason when it aborts
 */
export async function connectServers(
  servers: readonly McpServerRow[],
  { mcp, db, log }: Pick<ToolDeps, 'mcp' | 'db' | 'log'>,
  signal: AbortSignal,
): Promise<ConnectOutcome[]> {
  return Promise.all(
    servers.map(async ({ id, ...server }): Promise<ConnectOutcome> => {
      const message = await mcp.verify({ id, ...server }, signal).then(
        () => null,
        (error: unknown) => {
          signal.throwIfAborted();
          // The reason, never the error: the SDK's messages quote response bodies.
          const reason = failureReason(error);
          log.info({ mcp_server_id: id, reason }, 'an MCP server of a turn could not be connected');
          return `The MCP server could not be connected: ${reason}.`;
        },
      );
      await recordConnection(db, id, message);
      return message === null ? { serverId: id, ok: true } : { serverId: id, ok: false, message };
    }),
  );
}
