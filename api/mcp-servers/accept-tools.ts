import type { FromSchema } from 'json-schema-to-ts';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { acceptTools } from '../../src/mcp/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

const body = {
  type: 'object',
  properties: {
    names: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 256,
      uniqueItems: true,
      description: 'Tools to accept; without it, every changed tool.',
    },
  },
  additionalProperties: false,
} as const satisfies JsonSchema;

export const acceptMcpTools = operation<FromSchema<typeof body>, McpServerRow>({
  id: 'acceptMcpTools',
  summary: 'Accept changed tools of an MCP server whose tools are pinned',
  body,
  success: { status: 200, description: 'The MCP server as it is now.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found', 'unknown_mcp_tool'],
  resource: mcpServerOfPath,
  async handle({ deps: { db }, resource: { project_id, id }, body: { names } }) {
    return transaction(db, async (tx) => {
      await acceptTools(tx, await lockServer(tx, project_id, id), names);
      return presentMcpServer(await getServer(tx, project_id, id));
    });
  },
});
