import { findServer, mcpServerNotFound } from '../../src/mcp/find-servers.js';
import { resourceOfPath } from '../http/core/resource.js';

export const mcpServerOfPath = resourceOfPath('mcp_server_id', findServer, mcpServerNotFound);
