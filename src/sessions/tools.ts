import type { McpToolset, SessionTool, WorkspaceToolset } from '../db/entities/sessions.js';

/** Names of the built-in tools (decisions.md "What the agent has"), reserved for them. */
export const BUILT_IN_TOOL_NAMES = [
  ...(['use_skill', 'read_skill_file', 'list_files', 'read_file', 'deliver_file'] as const),
  'search_tools',
  'give_output',
] as const;
export type BuiltInToolName = (typeof BUILT_IN_TOOL_NAMES)[number] | WorkspaceToolName | typeof WAIT;

/** The tool with which the agent waits (decisions.md "An agent that waits"), reserved in sessions that have it. */
export const WAIT = 'wait';
export const MAX_WAIT_SECONDS = 86_400;

/** Names of the tools of a workspace (decisions.md "Workspace"), reserved for them in sessions that have one. */
export const WORKSPACE_TOOL_NAMES = ['bash', 'read', 'write', 'edit'] as const;
export type WorkspaceToolName = (typeof WORKSPACE_TOOL_NAMES)[number];

export function isWorkspaceTool(name: string): name is WorkspaceToolName {
  return (WORKSPACE_TOOL_NAMES as readonly string[]).includes(name);
}

export function hasWorkspace(tools: readonly Pick<SessionTool, 'type'>[]): boolean {
  return tools.some(({ type }) => type === 'workspace');
}

/** The tool that delivers a file to the user, in a session with a workspace also one of its files. */
export const DELIVER_FILE = 'deliver_file' satisfies BuiltInToolName;
/** The tool that finds deferred tools (decisions.md "Tools found by search"). */
export const SEARCH_TOOLS = 'search_tools' satisfies BuiltInToolName;
/** The tool whose call ends a turn with `output_schema` (decisions.md "Output schema"). */
export const GIVE_OUTPUT = 'give_output' satisfies BuiltInToolName;

export const MCP_TOOL_PREFIX = 'mcp__';

/** True if a person must allow each call of an MCP server's tool. `toolName` is the server's own name for the tool. */
export function mustAsk(toolsets: readonly McpToolset[], serverId: string, toolName: string): boolean {
  return asks(
    toolsets.find(({ mcp_server_id: id }) => id === serverId),
    toolName,
  );
}

/** True if a person must allow each call of the tool under this entry. */
export function asks(
  toolset: Pick<McpToolset | WorkspaceToolset, 'configs' | 'default_config'> | undefined,
  toolName: string,
): boolean {
  const config = toolset?.configs?.find(({ name }) => name === toolName) ?? toolset?.default_config;
  return config?.permission_policy.type === 'always_ask';
}

export function mayElicit(toolsets: readonly McpToolset[], serverId?: string): boolean {
  return toolsets.some(
    ({ mcp_server_id: id, elicitation }) => elicitation === true && (serverId === undefined || id === serverId),
  );
}
