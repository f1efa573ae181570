import type { Tx } from '../../src/db/db.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { requestAuthOf } from '../../src/mcp/request-auth.js';
import { storeProbe } from '../../src/mcp/store.js';
import type { TurnServerRow } from '../../src/mcp/user-credentials.js';
import type { ApiDeps } from '../deps.js';
import { operation } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

export const probeMcpServer = operation({
  id: 'probeMcpServer',
  summary: 'Connect to an MCP server again and refresh its tools',
  description:
    'Use it after the server has got new tools, or to see whether it answers. Turns list the tools by themselves.',
  success: { status: 200, description: 'The MCP server with its current tools.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found', 'invalid_mcp_server_url', 'mcp_probe_failed'],
  resource: mcpServerOfPath,
  handle: async ({ deps, resource, record }) => presentMcpServer(await probeServer(deps, resource, record)),
});

/** @param record runs in the transaction that stores the tools */
export async function probeServer(
  { config, db, mcpNetwork, oauth, probes }: ApiDeps,
  server: TurnServerRow,
  record?: (tx: Tx) => Promise<void>,
): Promise<McpServerRow> {
  const url = await mcpNetwork.checkUrl(server.url);
  const probed = await probes.run(server.project_id, url, server.allowed_tools, () =>
    requestAuthOf(config.encryptionKeys, oauth, server),
  );
  return transaction(db, async (tx) => {
    const locked = await lockServer(tx, server.project_id, server.id);
    // If the credential changed meanwhile, that change ran a newer probe: keep its result.
    if (locked.credential_version === server.credential_version) await storeProbe(tx, locked, probed);
    await record?.(tx);
    return getServer(tx, server.project_id, server.id);
  });
}
