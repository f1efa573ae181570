import type { AuthorizationLink } from '../../../src/mcp/oauth/authorize.js';
import type { UserCredential } from '../../../src/mcp/user-credentials.js';
import { described } from '../../../src/platform/object-schema.js';
import { idField, text, timestamp, timestampOrNull } from '../../../src/platform/schema-fields.js';
import { presented } from '../../http/core/presenter.js';
import { authSchema, presentAuth } from '../present.js';

const credential = presented(
  'Credential',
  'The credential of a user for an MCP server.',
  {
    id: idField('credential', 'Id of the credential.'),
    mcp_server_id: idField('mcpServer', 'The server that it is for.'),
    user: described(text, 'The person whose credential it is.'),
    auth: authSchema,
    last_used_at: described(timestampOrNull, 'When a call last used it, to the minute; null before.'),
    last_error: {
      type: ['string', 'null'],
      description: 'Why the server refused it last; null if it has not, and after the next success.',
    },
    created_at: described(timestamp, 'When it was first stored.'),
    updated_at: described(timestamp, 'When it was last replaced or authorized.'),
  },
  {
    id: 'cred_01kag8u1w2e3r4t5y6u7i8o9p0',
    mcp_server_id: 'mcp_01kag8u1w2e3r4t5y6u7i8o9p0',
    user: 'jane@example.com',
    auth: { type: 'OAUTH', name: null, status: 'authorized', authorization_url: null, expires_at: null },
    last_used_at: '2026-11-21T09:48:04.100001Z',
    last_error: null,
    created_at: '2026-11-21T09:20:00.000001Z',
    updated_at: '2026-11-21T09:20:00.000001Z',
  },
);
export const { schema: credentialSchema } = credential;

/** Without the secret. */
export function presentCredential(row: UserCredential, link?: AuthorizationLink): Record<string, unknown> {
  const { auth_type: type, auth_header: name, end_user: user, is_authorized } = row;
  return credential.present({ ...row, user, auth: presentAuth({ type, name }, is_authorized, link) });
}
