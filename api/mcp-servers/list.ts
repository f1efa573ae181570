import { listServers } from '../../src/mcp/find-servers.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { mcpServerSchema, presentMcpServer } from './present.js';

export const listMcpServers = operation({
  id: 'listMcpServers',
  summary: 'List MCP servers, newest first',
  paged: true,
  success: { status: 200, description: 'A page of MCP servers.', schema: pageSchema(mcpServerSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const request = newestFirst(query, 'mcp-servers');
    const servers = await listServers(deps.db, caller.projectId, request);
    return pageOf('mcp-servers', servers, ({ created_at, id }) => [created_at, id], presentMcpServer);
  },
});
