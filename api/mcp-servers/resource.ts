import { findServer, mcpServerNotFound } from '../../src/mcp/find-servers.js';
import { resourceOfPath } from '../http/resource.js';

/** The MCP server that the path names. @throws ServiceError `mcp_server_not_found` */
export const mcpServerOfPath = resourceOfPath('mcp_server_id', findServer, mcpServerNotFound);
