import type { SessionTool } from '../db/entities/sessions.js';

/** Names of the built-in tools (contract.md §4), reserved for them. */
export const BUILT_IN_TOOL_NAMES = ['use_skill', 'read_skill_file', 'list_files', 'read_file', 'deliver_file'] as const;
export type BuiltInToolName = (typeof BUILT_IN_TOOL_NAMES)[number];

/** Prefix of every MCP tool's name. */
export const MCP_TOOL_PREFIX = 'mcp__';

/** True if a person must allow each call of an MCP server's tool. `toolName` is the server's own name for the tool. */
export function mustAsk(tools: readonly SessionTool[], serverId: string, toolName: string): boolean {
  const toolset = tools.find((tool) => tool.type === 'mcp_toolset' && tool.mcp_server_id === serverId);
  if (toolset?.type !== 'mcp_toolset') return false;
  const config = toolset.configs?.find(({ name }) => name === toolName) ?? toolset.default_config;
  return config?.permission_policy.type === 'always_ask';
}
