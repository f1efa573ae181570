import { operation } from '../http/core/operation.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

export const getMcpServer = operation({
  id: 'getMcpServer',
  summary: 'Get an MCP server',
  description:
    'Shows one MCP server with its tools. `last_connect_error` says why the agent could not use it in the latest turn.',
  success: { status: 200, description: 'The MCP server.', schema: mcpServerSchema },
  errors: ['mcp_server_not_found'],
  resource: mcpServerOfPath,
  handle: async ({ resource }) => presentMcpServer(resource),
});
