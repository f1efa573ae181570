import type { McpServer, SessionTool } from '../../../client/src/index.js';
import { groupsOf } from '../keys/groups.js';
import { exactText } from '../../../src/platform/exact-json.js';

/** Which tools of a server wait for a person's answer before they run. */
export interface Asking {
  /** Every tool, also those that the server adds later. */
  all: boolean;
  names: string[];
  /** The server may ask the person while a call runs. */
  elicitation: boolean;
  /** The approver groups that decide, as a person types them; empty: who may approve decides. */
  approvers: string;
}

export type WorkspaceToolset = Extract<SessionTool, { type: 'workspace' }>;

export type MemoryTool = Extract<SessionTool, { type: 'memory' }>;

export type AskingByServer = Record<string, Asking>;

export const ASK_NOTHING: Asking = { all: false, names: [], elicitation: false, approvers: '' };

/** The names of a server's tools that agents see. */
export function allowedToolNames({ tools, allowed_tools: allowed }: McpServer): string[] {
  return tools.map(({ name }) => name).filter((name) => allowed?.includes(name) ?? true);
}

/** A session's `tools`. A server whose tools all run without asking needs no entry. */
export function sessionTools(
  serverIds: string[],
  asking: AskingByServer,
  workspace: WorkspaceToolset | null,
  mayWait: boolean,
  memories: MemoryTool[],
  custom: SessionTool[],
): SessionTool[] {
  const toolsets = serverIds.flatMap((id): SessionTool[] => {
    const { all, names, elicitation, approvers } = asking[id] ?? ASK_NOTHING;
    const groups = groupsOf(approvers);
    if (!all && names.length === 0 && !elicitation) return [];
    const ask = {
      permission_policy: { type: 'always_ask' as const, ...(groups.length > 0 && { approvers: groups }) },
    };
    return [
      {
        type: 'mcp_toolset',
        mcp_server_id: id,
        ...(all && { default_config: ask }),
        ...(!all && names.length > 0 && { configs: names.map((name) => ({ name, ...ask })) }),
        ...(elicitation && { elicitation }),
      },
    ];
  });
  return [
    ...toolsets,
    ...(workspace === null ? [] : [workspace]),
    ...memories,
    ...(mayWait ? [{ type: 'wait' as const }] : []),
    ...custom,
  ];
}

/** Reads one tool or an array of tools; the service checks them. @throws SyntaxError */
export function parseCustomTools(json: string): SessionTool[] {
  if (json.trim() === '') return [];
  const given = JSON.parse(json) as unknown;
  const tools = Array.isArray(given) ? given : [given];
  return tools.map((tool) => ({ type: 'custom', ...(tool as object) }) as SessionTool);
}

/** What a session's `tools` say of each server: the form that gives the same tools. */
export function askingOf(tools: readonly SessionTool[]): AskingByServer {
  return Object.fromEntries(
    tools.flatMap((tool) => {
      if (tool.type !== 'mcp_toolset') return [];
      const { mcp_server_id: id, configs = [], elicitation = false } = tool;
      const asks = configs.filter(({ permission_policy: policy }) => policy.type === 'always_ask');
      const policies = [tool.default_config, ...asks].map((config) => config?.permission_policy.approvers ?? []);
      const approvers = [...new Set(policies.flat())].join(', ');
      return [[id, { all: asksAlways(tool), names: asks.map(({ name }) => name), elicitation, approvers }]];
    }),
  );
}

export function workspaceOf(tools: readonly SessionTool[]): WorkspaceToolset | null {
  return tools.find((tool) => tool.type === 'workspace') ?? null;
}

/** The memories of a session, with or without that of its user. */
export function withMemoryOfUser(memories: readonly MemoryTool[], isWanted: boolean): MemoryTool[] {
  const others = memories.filter((memory) => memory.of !== 'user');
  const own = memories.find((memory) => memory.of === 'user') ?? { type: 'memory', of: 'user' };
  return isWanted ? [own, ...others] : others;
}

/** True if the tools of a server or of a workspace ask unless `configs` says another. */
export function asksAlways({
  default_config: all,
}: Extract<SessionTool, { type: 'mcp_toolset' | 'workspace' }>): boolean {
  return all?.permission_policy.type === 'always_ask';
}

/** The custom tools, and the agents that may be called, as the form takes them; empty without any. */
export function customToolsOf(tools: readonly SessionTool[]): string {
  const custom = tools.flatMap((tool): object[] => {
    if (tool.type === 'agent') return [tool];
    if (tool.type !== 'custom') return [];
    const { type: _, ...fields } = tool;
    return [fields];
  });
  return custom.length === 0 ? '' : exactText(custom, 2);
}
