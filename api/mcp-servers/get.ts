import { operation } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

export const getMcpServer = operation({
  id: 'getMcpServer',
  summary: 'Get an MCP server',
  success: { status: 200, description: 'The MCP server.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found'],
  resource: mcpServerOfPath,
  handle: async ({ resource }) => presentMcpServer(resource),
});
