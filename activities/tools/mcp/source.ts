import { mcpPermissionOf } from '../../../src/sessions/tools.js';
import { builtInTool } from '../built-in/turn-tool.js';
import type { ToolSource, TurnTool } from '../tool-source.js';
import { beginServers } from './connect.js';
import { deferTools } from './deferral.js';
import { mcpKind, type McpKindDeps } from './kind.js';
import { mcpToolsOf } from './names.js';
import { searchToolsTool } from './search-tools.js';

/** The tools of the session's connected MCP servers, in its order, after the tool that finds those which are deferred. */
export function mcpSource(deps: McpKindDeps): ToolSource {
  return {
    begin: (turn, attempt) => beginServers(deps, turn, attempt),
    tools({ turn: { servers, toolsets } }, limits) {
      const tools = mcpToolsOf(servers);
      const entries = new Map(toolsets.map((entry) => [entry.mcp_server_id, entry]));
      const required = new Map(servers.map(({ id, requiredApprovals }) => [id, requiredApprovals]));
      const deferred = deferTools(tools, toolsets, limits);
      const search = deferred.size > 0 ? [builtInTool(deps, searchToolsTool(deferred))] : [];
      const offered = tools.map((tool): TurnTool => ({
        definition: tool,
        shown: deferred.has(tool.name) ? 'found' : 'always',
        ...mcpPermissionOf(entries.get(tool.serverId), required.get(tool.serverId)!, tool.toolName),
        asked: { ...tool, annotations: tool.shownAnnotations },
        isSerial: false,
        owner: `the MCP server ${tool.serverName}`,
        kindOf: () => mcpKind(deps, tool),
      }));
      return [...search, ...offered];
    },
  };
}
