import type { McpServerRow, McpTool } from '../../src/db/entities/mcp-servers.js';
import { readTools } from '../../src/mcp/find-servers.js';
import { toolStatuses } from '../../src/mcp/tool-status.js';
import { operation } from '../http/core/operation.js';
import { filteredList, pageOfItems, pageRequest, pageSchema } from '../http/core/page.js';
import { mcpServerOfPath } from './resource.js';
import { serverTool } from './tool-fields.js';

export const listMcpServerTools = operation<undefined, McpServerRow>({
  id: 'listMcpServerTools',
  summary: 'List the tools of an MCP server with their schemas, in the server’s order',
  description:
    'Shows the tools of the last probe, as the agent gets them: descriptions cut, schemas repaired, credentials replaced. The server is not asked; probe it to read them again.',
  paged: true,
  success: { status: 200, description: 'A page of tools.', schema: pageSchema(serverTool.schema) },
  errors: ['mcp_server_not_found'],
  resource: mcpServerOfPath,
  async handle({ deps: { db }, resource: server, query }) {
    const list = filteredList('mcp_server_tools', server.id);
    const request = pageRequest(query, list, 1);
    const statusOf = toolStatuses(server);
    return pageOfItems(list, request, await readTools(db, server.id), {
      nameOf: ({ name }) => name,
      present: (tool) => presentTool(tool, statusOf),
      gone: 'The tools of the server have changed since this cursor was given. Start again without it.',
    });
  },
});

function presentTool(
  { annotations, task_support, title: _title, hints: _hints, ...tool }: McpTool,
  statusOf: ReturnType<typeof toolStatuses>,
): Record<string, unknown> {
  return serverTool.present({
    ...tool,
    annotations: annotations ?? null,
    task_support: task_support ?? null,
    status: statusOf(tool.name),
  });
}
