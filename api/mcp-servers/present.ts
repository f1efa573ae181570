import type { McpAuthType, McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { AuthorizationLink } from '../../src/mcp/oauth/authorize.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { flag, idField, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';
import { changedToolSchema } from './changed-tool-fields.js';
import { allowedToolsField, authTypeField, credentialsField, requiredApprovalsField } from './fields.js';

const authorizationStatus = {
  $id: 'AuthorizationStatus',
  type: 'string',
  enum: ['authorization_required', 'authorized'],
  description: '`authorization_required`: a person must open `authorization_url`. `authorized`: a person has done so.',
} as const;

export const authSchema = {
  $id: 'McpServerAuth',
  description: 'How the service proves to the MCP server who it is, without the credential.',
  ...objectSchema(
    {
      type: authTypeField,
      name: { type: ['string', 'null'], description: 'The header name for type HEADER; otherwise null.' },
    },
    {
      status: described(authorizationStatus, 'Only for type OAUTH, like the next two fields.'),
      authorization_url: {
        type: ['string', 'null'],
        description: 'Where a person authorizes the server; only in the response that starts an authorization.',
      },
      expires_at: described(timestampOrNull, 'When authorization_url expires.'),
    },
  ),
};

const tool = {
  $id: 'McpTool',
  description: 'A tool of an MCP server.',
  ...objectSchema({
    name: described(text, 'The server’s own name of the tool.'),
    description: described(text, 'What it does, in the words of the server.'),
  }),
};

const mcpServer = presented(
  'McpServer',
  'A registered MCP server. Sessions that name it can use its tools.',
  {
    id: idField('mcpServer', 'Id of the MCP server.'),
    name: described(text, 'Its name, unique in the project.'),
    url: described(text, 'Its Streamable HTTP endpoint.'),
    auth: authSchema,
    credentials: credentialsField,
    allowed_tools: {
      type: ['array', 'null'],
      items: text,
      description: allowedToolsField.description,
    },
    tools: { type: 'array', items: tool, description: 'The tools that it offered last, at most 2,000 of them.' },
    tools_left_out: {
      type: 'integer',
      format: 'int32',
      minimum: 0,
      description:
        'How many tools it offers beside `tools`: those beyond 2,000, and those whose names cannot be used. Tools of `allowed_tools` are kept first.',
    },
    pin_tools: described(flag, 'If true, new and changed tools are held back until they are accepted.'),
    changed_tools: {
      type: 'array',
      description: 'Tools of a pinned server that are held back until they are accepted.',
      items: changedToolSchema,
    },
    required_approvals: requiredApprovalsField,
    server_name: { type: ['string', 'null'], description: 'What it calls itself; null before the first connection.' },
    last_probed_at: described(timestampOrNull, 'When its tools were last listed by a probe; null before.'),
    last_connected_at: described(timestampOrNull, 'When a turn last connected to it; null before.'),
    last_connect_error: {
      type: ['string', 'null'],
      description: 'Why the latest connection of a turn failed; null if it did not.',
    },
    created_at: described(timestamp, 'When it was registered.'),
    updated_at: described(timestamp, 'When it was last changed.'),
  },
  {
    id: 'mcp_01kag8u1w2e3r4t5y6u7i8o9p0',
    name: 'orders',
    url: 'https://mcp.example.com/orders',
    auth: { type: 'BEARER', name: null },
    credentials: 'shared',
    allowed_tools: null,
    tools: [
      { name: 'late_orders', description: 'Lists the orders that are late.' },
      { name: 'refund', description: 'Pays an order back.' },
    ],
    tools_left_out: 0,
    pin_tools: false,
    changed_tools: [],
    required_approvals: [{ name: 'refund', approvers: ['finance'] }],
    server_name: 'order-server',
    last_probed_at: '2026-11-21T09:20:00.000001Z',
    last_connected_at: '2026-11-21T09:48:04.100001Z',
    last_connect_error: null,
    created_at: '2026-11-21T09:20:00.000001Z',
    updated_at: '2026-11-21T09:20:00.000001Z',
  },
);
export const { schema: mcpServerSchema } = mcpServer;

/** Without credentials. */
export function presentMcpServer(server: McpServerRow, link?: AuthorizationLink): Record<string, unknown> {
  const { auth_type: type, auth_header: name, oauth, tool_list: tools } = server;
  return mcpServer.present({
    ...server,
    auth: presentAuth({ type, name }, oauth === null ? null : oauth.authorized_at !== null, link),
    tools,
  });
}

/** `isAuthorized`: only of type OAUTH. */
export function presentAuth(
  { type, name }: { type: McpAuthType; name: string | null },
  isAuthorized: boolean | null,
  link: AuthorizationLink = { authorization_url: null, expires_at: null },
): Record<string, unknown> {
  if (type !== 'OAUTH' || isAuthorized === null) return { type, name };
  return { type, name, status: isAuthorized ? 'authorized' : 'authorization_required', ...link };
}
