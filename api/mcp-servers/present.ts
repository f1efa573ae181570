import type { McpOauthRow } from '../../src/db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { AuthorizationLink } from '../../src/mcp/oauth/authorize.js';
import type { JsonSchema } from '../http/core/operation.js';

const timestamp = { type: ['string', 'null'], format: 'date-time' } as const;

const shownTool = {
  type: 'object',
  properties: {
    description: { type: 'string' },
    input_schema: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Null if it is too large to show.',
    },
    annotations: {
      type: 'object',
      description: 'Absent without readOnlyHint or idempotentHint.',
      properties: { readOnlyHint: { const: true }, idempotentHint: { const: true } },
      additionalProperties: false,
    },
  },
  required: ['description', 'input_schema'],
  additionalProperties: false,
} as const;

/** A tool of a pinned server that is held back until it is accepted. */
export const changedToolSchema = {
  $id: 'ChangedMcpTool',
  type: 'object',
  properties: {
    name: { type: 'string' },
    digest: { type: 'string', description: 'Identifies this version of the tool. Send it when you accept the tool.' },
    before: { anyOf: [shownTool, { type: 'null' }], description: 'The accepted tool; null for a new one.' },
    after: shownTool,
  },
  required: ['name', 'digest', 'before', 'after'],
  additionalProperties: false,
} as const satisfies JsonSchema;

export const mcpServerSchema = {
  $id: 'McpServer',
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^mcp_' },
    name: { type: 'string' },
    url: { type: 'string' },
    auth: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['NONE', 'BEARER', 'HEADER', 'OAUTH'] },
        name: { type: ['string', 'null'], description: 'The header name for type HEADER; otherwise null.' },
        status: {
          type: 'string',
          enum: ['authorization_required', 'authorized'],
          description: 'Only for type OAUTH, like the next two fields.',
        },
        authorization_url: {
          type: ['string', 'null'],
          description: 'Where a person authorizes the server; only in the response that starts an authorization.',
        },
        expires_at: { ...timestamp, description: 'When authorization_url expires.' },
      },
      required: ['type', 'name'],
      additionalProperties: false,
    },
    allowed_tools: { type: ['array', 'null'], items: { type: 'string' } },
    tools: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, description: { type: 'string' } },
        required: ['name', 'description'],
        additionalProperties: false,
      },
    },
    pin_tools: { type: 'boolean' },
    changed_tools: {
      type: 'array',
      description: 'Tools of a pinned server that are held back until they are accepted.',
      items: changedToolSchema,
    },
    server_name: { type: ['string', 'null'] },
    last_probed_at: timestamp,
    last_connected_at: timestamp,
    last_connect_error: { type: ['string', 'null'] },
    created_at: { type: 'string', format: 'date-time' },
    updated_at: { type: 'string', format: 'date-time' },
  },
  required: [
    'id',
    'name',
    'url',
    'auth',
    'allowed_tools',
    'tools',
    'pin_tools',
    'changed_tools',
    'server_name',
    'last_probed_at',
    'last_connected_at',
    'last_connect_error',
    'created_at',
    'updated_at',
  ],
  additionalProperties: false,
} as const satisfies JsonSchema;

/** The server as clients see it, without credentials. */
export function presentMcpServer(server: McpServerRow, link?: AuthorizationLink): Record<string, unknown> {
  return {
    id: server.id,
    name: server.name,
    url: server.url,
    auth: {
      type: server.auth_type,
      name: server.auth_header,
      ...(server.oauth !== null && oauthFields(server.oauth, link)),
    },
    allowed_tools: server.allowed_tools,
    tools: server.tool_list,
    pin_tools: server.pin_tools,
    changed_tools: server.changed_tools,
    server_name: server.server_name,
    last_probed_at: server.last_probed_at,
    last_connected_at: server.last_connected_at,
    last_connect_error: server.last_connect_error,
    created_at: server.created_at,
    updated_at: server.updated_at,
  };
}

function oauthFields(
  { authorized_at }: McpOauthRow,
  link: AuthorizationLink = { authorization_url: null, expires_at: null },
): Record<string, unknown> {
  return { status: authorized_at === null ? 'authorization_required' : 'authorized', ...link };
}
