import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { getServer } from '../../src/mcp/find-servers.js';
import type { Call } from '../http/operation.js';

/** The MCP server that the path names. @throws ServiceError `mcp_server_not_found` */
export function mcpServerOfPath({
  deps,
  caller,
  params,
}: Pick<Call, 'deps' | 'caller' | 'params'>): Promise<McpServerRow> {
  return getServer(deps.db, caller.projectId, params.mcp_server_id!);
}
