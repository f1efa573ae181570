import { transaction } from '../../src/db/transaction.js';
import { lockServer } from '../../src/mcp/find-servers.js';
import { openGrant } from '../../src/mcp/oauth/grants.js';
import { tryRevoke } from '../../src/mcp/oauth/revoke.js';
import { deleteOauth } from '../../src/mcp/oauth/store.js';
import { deleteServer } from '../../src/mcp/store.js';
import { deleteCredentials } from '../../src/mcp/user-credentials.js';
import { operation } from '../http/core/operation.js';
import { dropCredentials } from './credentials/usable.js';
import { mcpServerOfPath } from './resource.js';

export const deleteMcpServer = operation({
  id: 'deleteMcpServer',
  summary: 'Delete an MCP server; sessions lose its tools from their next turn',
  description:
    'Removes the server with its credential and those of its users. Sessions that name it go on without its tools.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['mcp_server_not_found'],
  resource: mcpServerOfPath,
  async handle({ deps, resource: { project_id, id }, record, log }) {
    const { deleted, ofUsers } = await transaction(deps.db, async (tx) => {
      await deleteServer(tx, await lockServer(tx, project_id, id));
      const ofUsers = await deleteCredentials(tx, project_id, { serverId: id });
      await record(tx);
      return { deleted: await deleteOauth(tx, id), ofUsers };
    });
    deps.oauth.forget(id);
    await tryRevoke(deps, id, () => deleted && openGrant(deps.config.encryptionKeys, deleted));
    await dropCredentials({ ...deps, log }, ofUsers.dropped, ofUsers.grants);
  },
});
