import { wholeChangedTool } from '../../src/mcp/pins.js';
import { ServiceError } from '../../src/platform/errors.js';
import { operation } from '../http/core/operation.js';
import { changedToolSchema } from './changed-tool-fields.js';
import { mcpServerOfPath } from './resource.js';

export const getChangedMcpTool = operation({
  id: 'getChangedMcpTool',
  summary: 'Get a changed tool of an MCP server whose tools are pinned, whatever its size',
  description: 'Use it where `changed_tools` shows a schema as null, because it is too large for the list.',
  success: { status: 200, description: 'The changed tool with its complete schemas.', schema: changedToolSchema },
  errors: ['mcp_server_not_found', 'not_found'],
  resource: mcpServerOfPath,
  async handle({ deps: { db }, resource, params }) {
    const tool = await wholeChangedTool(db, resource, params.tool_name!);
    if (tool === null) throw new ServiceError('not_found', 'The MCP server has no changed tool of this name.');
    return tool;
  },
});
