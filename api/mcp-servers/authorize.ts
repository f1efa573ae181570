import { transaction } from '../../src/db/transaction.js';
import { ServiceError } from '../../src/platform/errors.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { restartOauth, storeStarted } from '../../src/mcp/oauth/authorize.js';
import { senderOf } from '../http/core/audit.js';
import { operation } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

export const authorizeMcpServer = operation({
  id: 'authorizeMcpServer',
  summary: 'Start the authorization of an MCP server of type OAUTH again',
  description:
    'Use it when `authorization_url` has expired, or the server no longer accepts the authorization. A person opens the new address.',
  success: { status: 200, description: 'The MCP server with a new authorization_url.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found', 'invalid_mcp_server_url', 'mcp_oauth_failed'],
  resource: mcpServerOfPath,
  async handle({ deps, caller, resource, record }) {
    const { oauth, project_id, id } = resource;
    if (oauth === null) throw changed('the type of its auth is not OAUTH; PATCH auth first');
    const started = await restartOauth(deps, await deps.mcpNetwork.checkUrl(resource.url), oauth);

    return transaction(deps.db, async (tx) => {
      const server = await lockServer(tx, project_id, id);
      if (server.credential_version !== resource.credential_version) throw changed('its auth was changed meanwhile');
      const link = await storeStarted(tx, deps, id, started, senderOf(caller));
      await record(tx);
      return presentMcpServer(await getServer(tx, project_id, id), link);
    });
  },
});

function changed(reason: string): ServiceError {
  return new ServiceError('mcp_oauth_failed', `The MCP server cannot be authorized: ${reason}.`);
}
