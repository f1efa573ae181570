import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../../src/db/transaction.js';
import { readAuth } from '../../../src/mcp/auth.js';
import { findServer, lockServer } from '../../../src/mcp/find-servers.js';
import { startUserOauth, storeStarted } from '../../../src/mcp/oauth/authorize.js';
import { findCredential, putCredential } from '../../../src/mcp/user-credentials.js';
import { objectSchema } from '../../../src/platform/object-schema.js';
import { ServiceError, validationError } from '../../../src/platform/errors.js';
import { senderOf } from '../../http/core/audit.js';
import { operation, type JsonSchema } from '../../http/core/operation.js';
import { credentialAuthField, userField } from './fields.js';
import { credentialSchema, presentCredential } from './present.js';
import { dropCredentials, useCredential } from './usable.js';

const body = {
  $id: 'NewCredential',
  description: 'The credential of a user for an MCP server.',
  ...objectSchema({
    mcp_server_id: { type: 'string', description: 'Id of the server.' },
    user: userField,
    auth: credentialAuthField,
  }),
  examples: [{ mcp_server_id: 'mcp_01kag8u1w2e3r4t5y6u7i8o9p0', user: 'jane@example.com', auth: { type: 'OAUTH' } }],
} as const satisfies JsonSchema;

export const putUserCredential = operation<FromSchema<typeof body>>({
  id: 'putCredential',
  summary: 'Store the credential of a user for an MCP server',
  description:
    'Replaces an earlier one of the same user and server, which keeps its id. Calls of this user that wait for it run at once. With OAUTH, the user opens `authorization_url` first.',
  body,
  idempotent: true,
  success: { status: 201, description: 'The credential, without its secret.', schema: credentialSchema },
  errors: ['mcp_server_not_found', 'invalid_mcp_server_url', 'mcp_oauth_failed'],
  async handle({ deps, caller, body, record, log }) {
    const { projectId } = caller;
    const { db, config } = deps;
    const credential = readAuth(body.auth);
    const server = await findServer(db, projectId, body.mcp_server_id);
    if (server === null) {
      const ids = [body.mcp_server_id];
      throw new ServiceError('mcp_server_not_found', `There is no MCP server ${ids[0]}.`, { mcp_server_ids: ids });
    }
    if (credential.type === 'OAUTH' && server.oauth === null)
      throw validationError('/auth/type', 'can be OAUTH only for a server whose own auth is OAUTH');
    const started = credential.type === 'OAUTH' ? await startUserOauth(deps, server) : null;

    const { answer, replaced, grants } = await transaction(db, async (tx) => {
      const locked = await lockServer(tx, projectId, server.id);
      const { id, replaced, grants } = await putCredential(tx, config.encryptionKeys, locked, body.user, credential);
      const link = started === null ? undefined : await storeStarted(tx, deps, id, started, senderOf(caller));
      const row = (await findCredential(tx, projectId, id))!;
      await record(tx, presentCredential(row));
      return { answer: presentCredential(row, link), replaced, grants };
    });
    if (replaced !== null) await dropCredentials({ ...deps, log }, [replaced], grants);
    if (started === null) await useCredential({ ...deps, log }, server, body.user);
    return answer;
  },
});
