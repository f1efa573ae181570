import { listServers } from '../../src/mcp/find-servers.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { mcpServerSchema, presentMcpServer } from './present.js';

export const listMcpServers = operation({
  id: 'listMcpServers',
  summary: 'List MCP servers, newest first',
  description: 'Shows the registered MCP servers with their tools.',
  paged: true,
  success: { status: 200, description: 'A page of MCP servers.', schema: pageSchema(mcpServerSchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(query, 'mcp-servers', (page) => listServers(deps.db, caller.projectId, page), presentMcpServer),
});
