import type { McpServerRow, McpTool } from '../../src/db/entities/mcp-servers.js';
import { readTools } from '../../src/mcp/find-servers.js';
import { toolStatus } from '../../src/mcp/tool-status.js';
import { ServiceError } from '../../src/platform/errors.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { filteredList, pageRequest, pageSchema } from '../http/core/page.js';
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
    const { limit, after } = pageRequest(query, list, 1);
    const tools = await readTools(db, server.id);
    const start = after === null ? 0 : positionAfter(tools, after[0]!);
    const page = { rows: tools.slice(start, start + limit), hasMore: start + limit < tools.length };
    return pageOf(
      list,
      page,
      ({ name }) => [name],
      (tool) => presentTool(server, tool),
    );
  },
});

function presentTool(server: McpServerRow, { annotations, task_support, ...tool }: McpTool): Record<string, unknown> {
  return serverTool.present({
    ...tool,
    annotations: annotations ?? null,
    task_support: task_support ?? null,
    status: toolStatus(server, tool.name),
  });
}

function positionAfter(tools: readonly McpTool[], name: string): number {
  const index = tools.findIndex((tool) => tool.name === name);
  if (index >= 0) return index + 1;
  throw new ServiceError(
    'invalid_cursor',
    'The tools of the server have changed since this cursor was given. Start again without it.',
  );
}
