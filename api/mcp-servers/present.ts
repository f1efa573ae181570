import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { JsonSchema } from '../http/operation.js';

const timestamp = { type: ['string', 'null'], format: 'date-time' } as const;

/** The MCP server resource (spec.md "MCP server"). */
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
        type: { type: 'string', enum: ['NONE', 'BEARER', 'HEADER'] },
        name: { type: ['string', 'null'], description: 'The header name for type HEADER, otherwise null.' },
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
    'server_name',
    'last_probed_at',
    'last_connected_at',
    'last_connect_error',
    'created_at',
    'updated_at',
  ],
  additionalProperties: false,
} as const satisfies JsonSchema;

/** The server as clients see it: credentials are in no field of it. */
export function presentMcpServer(server: McpServerRow): Record<string, unknown> {
  return {
    id: server.id,
    name: server.name,
    url: server.url,
    auth: { type: server.auth_type, name: server.auth_header },
    allowed_tools: server.allowed_tools,
    tools: server.tools.map(({ name, description }) => ({ name, description })),
    server_name: server.server_name,
    last_probed_at: server.last_probed_at,
    last_connected_at: server.last_connected_at,
    last_connect_error: server.last_connect_error,
    created_at: server.created_at,
    updated_at: server.updated_at,
  };
}
