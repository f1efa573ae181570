import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { ServiceError } from '../../src/platform/errors.js';
import { findServer } from '../../src/mcp/store.js';
import type { Call } from '../http/operation.js';

/** The MCP server that the path names. @throws ServiceError `mcp_server_not_found` */
export async function mcpServerOfPath({
  deps,
  caller,
  params,
}: Pick<Call, 'deps' | 'caller' | 'params'>): Promise<McpServerRow> {
  return (await findServer(deps.db, caller.projectId, params.mcp_server_id!)) ?? mcpServerNotFound();
}

/** Missing, deleted or of another project: one answer. */
export function mcpServerNotFound(): never {
  throw new ServiceError('mcp_server_not_found', 'There is no such MCP server.');
}
