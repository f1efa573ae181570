import type { McpToolset } from '../db/entities/sessions.js';

/** Names of the built-in tools (contract.md §4), reserved for them. */
export const BUILT_IN_TOOL_NAMES = [
  ...(['use_skill', 'read_skill_file', 'list_files', 'read_file', 'deliver_file'] as const),
  'search_tools',
  'give_output',
] as const;
export type BuiltInToolName = (typeof BUILT_IN_TOOL_NAMES)[number];

/** The tool that finds deferred tools (contract.md §19). */
export const SEARCH_TOOLS = 'search_tools' satisfies BuiltInToolName;
/** The tool whose call ends a turn with `output_schema` (contract.md §20). */
export const GIVE_OUTPUT = 'give_output' satisfies BuiltInToolName;

export const MCP_TOOL_PREFIX = 'mcp__';

/** True if a person must allow each call of an MCP server's tool. `toolName` is the server's own name for the tool. */
export function mustAsk(toolsets: readonly McpToolset[], serverId: string, toolName: string): boolean {
  const toolset = toolsets.find(({ mcp_server_id: id }) => id === serverId);
  const config = toolset?.configs?.find(({ name }) => name === toolName) ?? toolset?.default_config;
  return config?.permission_policy.type === 'always_ask';
}

export function mayElicit(toolsets: readonly McpToolset[], serverId?: string): boolean {
  return toolsets.some(
    ({ mcp_server_id: id, elicitation }) => elicitation === true && (serverId === undefined || id === serverId),
  );
}
