import { requiredApprovalOf } from '../mcp/required-approvals.js';
import type { RequiredApproval } from '../db/entities/mcp-servers.js';
import type { McpToolset, PermissionPolicy, SessionTool, WorkspaceToolset } from '../db/entities/sessions.js';

/** Names of the built-in tools (decisions.md "What the agent has"), reserved for them. */
export const BUILT_IN_TOOL_NAMES = [
  ...(['use_skill', 'read_skill_file', 'list_files', 'read_file', 'deliver_file'] as const),
  'search_tools',
  'give_output',
] as const;
export type BuiltInToolName = (typeof BUILT_IN_TOOL_NAMES)[number] | WorkspaceToolName | typeof MEMORY | typeof WAIT;

/** The tool with which the agent waits (decisions.md "An agent that waits"), reserved in sessions that have it. */
export const WAIT = 'wait';
export const MAX_WAIT_SECONDS = 86_400;

/** The prefix of the tools that call other agents (decisions.md "Agents that call agents"), reserved in sessions that have them. */
export const AGENT_TOOL_PREFIX = 'agent__';
/** Entries of type `agent` in `tools`. */
export const MAX_AGENTS = 20;
/** Turns that the calls of one turn may begin in its life. */
export const MAX_CHILDREN = 50;

/** The tool with which the agent reads and writes its memories (docs/memory.md), reserved in sessions that have one. */
export const MEMORY = 'memory';

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

/** Whether a person must allow the calls of a tool, and who. */
export interface ToolPermission {
  permission: 'allow' | 'ask';
  /** The groups of which one decides; empty: who may approve decides. */
  approvers: readonly string[];
  /** Also in a session without `tools`. */
  asksEverywhere: boolean;
}

/** What an entry of `tools` says about a tool by its own name. */
export function permissionOf(
  toolset: Pick<McpToolset | WorkspaceToolset, 'configs' | 'default_config'> | undefined,
  toolName: string,
): ToolPermission {
  const config = toolset?.configs?.find(({ name }) => name === toolName) ?? toolset?.default_config;
  return permissionBy(config?.permission_policy);
}

/** What a policy says. */
export function permissionBy(policy: PermissionPolicy | undefined): ToolPermission {
  const permission = policy?.type === 'always_ask' ? 'ask' : 'allow';
  return { permission, approvers: policy?.approvers ?? [], asksEverywhere: false };
}

/**
 * What the session says about a tool of an MCP server, and the server itself: a required approval asks whatever the session says, and its
 * approvers stand in place of those of the session.
 */
export function mcpPermissionOf(
  toolset: McpToolset | undefined,
  required: readonly RequiredApproval[],
  toolName: string,
): ToolPermission {
  const ofSession = permissionOf(toolset, toolName);
  const entry = requiredApprovalOf(required, toolName);
  if (entry === null) return ofSession;
  return { permission: 'ask', approvers: entry.approvers ?? ofSession.approvers, asksEverywhere: true };
}

export function serversMayAsk(toolsets: readonly McpToolset[], serverId?: string): boolean {
  return toolsets.some(
    ({ mcp_server_id: id, elicitation }) => elicitation === true && (serverId === undefined || id === serverId),
  );
}
