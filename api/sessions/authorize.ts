import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { findServer, lockServer } from '../../src/mcp/find-servers.js';
import { startUserOauth, storeStarted } from '../../src/mcp/oauth/authorize.js';
import { findCredentialOf, notifyDropped, putCredential } from '../../src/mcp/user-credentials.js';
import { validationError } from '../../src/platform/errors.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { text, timestamp } from '../../src/platform/schema-fields.js';
import { findSessionServers } from '../../src/sessions/store.js';
import type { SessionState } from '../../src/sessions/store.js';
import { senderOf } from '../http/core/audit.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';

const body = {
  $id: 'SessionAuthorizationRequest',
  description: 'Which server the user of the session wants to authorize.',
  ...objectSchema({ mcp_server_id: { type: 'string', description: 'The id in the required action.' } }),
  examples: [{ mcp_server_id: 'mcp_01kag8u1w2e3r4t5y6u7i8o9p0' }],
} as const satisfies JsonSchema;

const answer = {
  $id: 'SessionAuthorization',
  description: 'Where the user authorizes the server.',
  ...objectSchema({
    authorization_url: described(text, 'For the user of the session to open in a browser. It works once.'),
    expires_at: described(timestamp, 'When the address expires.'),
  }),
  examples: [
    {
      authorization_url: 'https://auth.example.com/authorize?client_id=agent&state=…',
      expires_at: '2026-11-21T09:58:03.123456Z',
    },
  ],
} as const satisfies JsonSchema;

export const authorizeSession = operation<FromSchema<typeof body>, SessionState>({
  id: 'authorizeSession',
  summary: 'Start the authorization of an MCP server as the user of a session',
  description:
    'For the required action `mcp_authorization`: the user opens the address, and every call of theirs that waits for this server runs by itself.',
  body,
  success: { status: 200, description: 'The address to open.', schema: answer },
  errors: ['session_not_found', 'invalid_mcp_server_url', 'mcp_oauth_failed'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, body: { mcp_server_id }, resource, record }) {
    const { db, config } = deps;
    const { project_id: projectId } = resource;
    const { user, serverIds } = await findSessionServers(db, resource.id);
    const server = serverIds.includes(mcp_server_id) ? await findServer(db, projectId, mcp_server_id) : null;
    if (user === null) throw validationError('/mcp_server_id', 'cannot be authorized: the session has no user');
    if (server === null) throw validationError('/mcp_server_id', 'is no MCP server of the session');
    if (server.credentials !== 'user' || server.oauth === null)
      throw validationError('/mcp_server_id', 'is not a server with credentials of users and auth of type OAUTH');
    const started = await startUserOauth(deps, server);
    const { link, replaced } = await transaction(db, async (tx) => {
      const locked = await lockServer(tx, projectId, server.id);
      const found = await findCredentialOf(tx, server.id, user);
      const oauth = { type: 'OAUTH', header: null, secret: null } as const;
      const { id, replaced } =
        found?.auth_type === 'OAUTH'
          ? { id: found.id, replaced: null }
          : await putCredential(tx, config.encryptionKeys, locked, user, oauth);
      await record(tx);
      return { link: await storeStarted(tx, deps, id, started, senderOf(caller)), replaced };
    });
    if (replaced !== null) await notifyDropped(db, [replaced]);
    return link;
  },
});
