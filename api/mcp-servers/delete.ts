import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { deleteServer } from '../../src/mcp/store.js';
import { operation } from '../http/operation.js';
import { mcpServerNotFound, mcpServerOfPath } from './resource.js';

export const deleteMcpServer = operation<undefined, McpServerRow>({
  id: 'deleteMcpServer',
  summary: 'Delete an MCP server; sessions lose its tools from their next turn',
  success: { status: 204, description: 'Deleted.' },
  errors: ['mcp_server_not_found'],
  resource: mcpServerOfPath,
  async handle({ deps, resource }) {
    if (!(await deleteServer(deps.db, resource.id))) mcpServerNotFound();
  },
});
