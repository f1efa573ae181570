import { transaction } from '../../../src/db/transaction.js';
import { getServer, lockServer } from '../../../src/mcp/find-servers.js';
import { startUserOauth, storeStarted } from '../../../src/mcp/oauth/authorize.js';
import { credentialNotFound, findCredential, type UserCredential } from '../../../src/mcp/user-credentials.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { senderOf } from '../../http/core/audit.js';
import { operation } from '../../http/core/operation.js';
import { credentialSchema, presentCredential } from './present.js';
import { credentialOfPath } from './resource.js';

export const authorizeUserCredential = operation<undefined, UserCredential>({
  id: 'authorizeCredential',
  summary: 'Start the authorization of a user’s credential of type OAUTH again',
  description:
    'Use it when `authorization_url` has expired, or the server no longer accepts the authorization. The user opens the new address.',
  success: { status: 200, description: 'The credential with a new authorization_url.', schema: credentialSchema },
  errors: ['credential_not_found', 'mcp_server_not_found', 'invalid_mcp_server_url', 'mcp_oauth_failed'],
  resource: credentialOfPath,
  async handle({ deps, caller, resource, record }) {
    const { project_id, mcp_server_id, id } = resource;
    if (resource.auth_type !== 'OAUTH') throw notOauth('the type of its auth is not OAUTH');
    const server = await getServer(deps.db, project_id, mcp_server_id);
    if (server.oauth === null) throw notOauth('the server’s own auth is not OAUTH any more');
    const started = await startUserOauth(deps, server);
    return transaction(deps.db, async (tx) => {
      await lockServer(tx, project_id, mcp_server_id);
      const current = (await findCredential(tx, project_id, id)) ?? credentialNotFound();
      if (current.auth_type !== 'OAUTH') throw notOauth('its auth was changed meanwhile');
      const link = await storeStarted(tx, deps, id, started, senderOf(caller));
      await record(tx);
      return presentCredential((await findCredential(tx, project_id, id))!, link);
    });
  },
});

function notOauth(reason: string): ServiceError {
  return new ServiceError('mcp_oauth_failed', `The credential cannot be authorized: ${reason}.`);
}
