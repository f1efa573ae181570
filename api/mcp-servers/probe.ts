import { transaction } from '../../src/db/transaction.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { requestAuthOf } from '../../src/mcp/request-auth.js';
import { storeProbe } from '../../src/mcp/store.js';
import { operation } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

export const probeMcpServer = operation({
  id: 'probeMcpServer',
  summary: 'Connect to an MCP server again and refresh its tools',
  success: { status: 200, description: 'The MCP server with its current tools.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found', 'invalid_mcp_server_url', 'mcp_probe_failed'],
  resource: mcpServerOfPath,
  async handle({ deps: { config, db, mcpNetwork, oauth, probes }, resource }) {
    const url = await mcpNetwork.checkUrl(resource.url);
    const probed = await probes.run(resource.project_id, url, () =>
      requestAuthOf(config.encryptionKeys, oauth, resource),
    );

    return transaction(db, async (tx) => {
      const server = await lockServer(tx, resource.project_id, resource.id);
      // If the credential changed meanwhile, that change ran a newer probe: keep its result.
      if (server.credential_version === resource.credential_version) await storeProbe(tx, server, probed);
      return presentMcpServer(await getServer(tx, server.project_id, server.id));
    });
  },
});
