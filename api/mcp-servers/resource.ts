import { findServer, mcpServerNotFound } from '../../src/mcp/find-servers.js';
import { resourceOfPath } from '../http/core/resource.js';

/** Finds the MCP server in the path. @throws ServiceError `mcp_server_not_found` */
export const mcpServerOfPath = resourceOfPath('mcp_server_id', findServer, mcpServerNotFound);
