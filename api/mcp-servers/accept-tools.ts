import type { FromSchema } from 'json-schema-to-ts';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { validationError } from '../../src/platform/errors.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { MAX_TOOLS } from '../../src/mcp/tools.js';
import { acceptTools } from '../../src/mcp/accept-tools.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

const body = {
  $id: 'AcceptedMcpTools',
  description: 'Which tools to accept; empty: all changed tools.',
  type: 'object',
  properties: {
    names: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_TOOLS,
      uniqueItems: true,
      description: 'Tools to accept; without it, those in digests; without both, every changed tool.',
    },
    digests: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 256 },
      minProperties: 1,
      maxProperties: MAX_TOOLS,
      description: 'Digests of the versions that you have read, by tool name. Another version is not accepted.',
    },
  },
  additionalProperties: false,
  examples: [{ digests: { late_orders: '9f86d081884c7d65' } }],
} as const satisfies JsonSchema;

export const acceptMcpTools = operation<FromSchema<typeof body>, McpServerRow>({
  id: 'acceptMcpTools',
  summary: 'Accept changed tools of an MCP server whose tools are pinned',
  description:
    'With `pin_tools`, new and changed tools are held back. Read them in `changed_tools`, then accept them here.',
  body,
  success: { status: 200, description: 'The changed MCP server.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found', 'unknown_mcp_tool', 'tools_changed'],
  resource: mcpServerOfPath,
  check({ body: { names, digests = {} } }) {
    const stray = names && Object.keys(digests).find((name) => !names.includes(name));
    if (stray !== undefined) throw validationError('/digests', 'must name tools of names only');
  },
  async handle({ deps: { db }, resource: { project_id, id }, body, record }) {
    return transaction(db, async (tx) => {
      await acceptTools(tx, await lockServer(tx, project_id, id), body);
      await record(tx);
      return presentMcpServer(await getServer(tx, project_id, id));
    });
  },
});
