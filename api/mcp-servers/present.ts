import type { McpOauthRow } from '../../src/db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import type { AuthorizationLink } from '../../src/mcp/oauth/authorize.js';
import { presented, timestamp, timestampOrNull } from '../http/core/presenter.js';

const shownTool = objectSchema(
  {
    description: { type: 'string' },
    input_schema: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Null if it is too large to show.',
    },
  },
  {
    annotations: {
      type: 'object',
      description: 'Absent without readOnlyHint or idempotentHint.',
      properties: { readOnlyHint: { const: true }, idempotentHint: { const: true } },
      additionalProperties: false,
    },
  },
);

/** A tool of a pinned server that is held back until it is accepted. */
export const { schema: changedToolSchema } = presented('ChangedMcpTool', {
  name: { type: 'string' },
  digest: { type: 'string', description: 'Identifies this version of the tool. Send it when you accept the tool.' },
  before: { anyOf: [shownTool, { type: 'null' }], description: 'The accepted tool; null for a new one.' },
  after: shownTool,
});

const mcpServer = presented('McpServer', {
  id: { type: 'string', pattern: '^mcp_' },
  name: { type: 'string' },
  url: { type: 'string' },
  auth: objectSchema(
    {
      type: { type: 'string', enum: ['NONE', 'BEARER', 'HEADER', 'OAUTH'] },
      name: { type: ['string', 'null'], description: 'The header name for type HEADER; otherwise null.' },
    },
    {
      status: {
        type: 'string',
        enum: ['authorization_required', 'authorized'],
        description: 'Only for type OAUTH, like the next two fields.',
      },
      authorization_url: {
        type: ['string', 'null'],
        description: 'Where a person authorizes the server; only in the response that starts an authorization.',
      },
      expires_at: { ...timestampOrNull, description: 'When authorization_url expires.' },
    },
  ),
  allowed_tools: { type: ['array', 'null'], items: { type: 'string' } },
  tools: { type: 'array', items: objectSchema({ name: { type: 'string' }, description: { type: 'string' } }) },
  pin_tools: { type: 'boolean' },
  changed_tools: {
    type: 'array',
    description: 'Tools of a pinned server that are held back until they are accepted.',
    items: changedToolSchema,
  },
  server_name: { type: ['string', 'null'] },
  last_probed_at: timestampOrNull,
  last_connected_at: timestampOrNull,
  last_connect_error: { type: ['string', 'null'] },
  created_at: timestamp,
  updated_at: timestamp,
});
export const { schema: mcpServerSchema } = mcpServer;

/** Without credentials. */
export function presentMcpServer(server: McpServerRow, link?: AuthorizationLink): Record<string, unknown> {
  const { auth_type: type, auth_header: name, oauth, tool_list: tools } = server;
  return mcpServer.present({
    ...server,
    auth: { type, name, ...(oauth !== null && oauthFields(oauth, link)) },
    tools,
  });
}

function oauthFields(
  { authorized_at }: McpOauthRow,
  link: AuthorizationLink = { authorization_url: null, expires_at: null },
): Record<string, unknown> {
  return { status: authorized_at === null ? 'authorization_required' : 'authorized', ...link };
}
