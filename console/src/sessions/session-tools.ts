import type { McpServer, SessionTool } from '../../../client/src/index.js';

/** Which tools of a server wait for a person's answer before they run. */
export interface Asking {
  /** Every tool, also those that the server adds later. */
  all: boolean;
  names: string[];
}

export type AskingByServer = Record<string, Asking>;

export const ASK_NOTHING: Asking = { all: false, names: [] };

/** The names of a server's tools that agents see. */
export function offeredTools({ tools, allowed_tools: allowed }: McpServer): string[] {
  return tools.map(({ name }) => name).filter((name) => allowed?.includes(name) ?? true);
}

/** A session's `tools`. A server whose tools all run without asking needs no entry. */
export function sessionTools(serverIds: string[], asking: AskingByServer, custom: SessionTool[]): SessionTool[] {
  const toolsets = serverIds.flatMap((id): SessionTool[] => {
    const { all, names } = asking[id] ?? ASK_NOTHING;
    const ask = { permission_policy: { type: 'always_ask' as const } };
    if (all) return [{ type: 'mcp_toolset', mcp_server_id: id, default_config: ask }];
    if (names.length === 0) return [];
    return [{ type: 'mcp_toolset', mcp_server_id: id, configs: names.map((name) => ({ name, ...ask })) }];
  });
  return [...toolsets, ...custom];
}

/** Reads one tool or an array of tools; the service checks them. @throws SyntaxError */
export function parseCustomTools(json: string): SessionTool[] {
  if (json.trim() === '') return [];
  const given = JSON.parse(json) as unknown;
  const tools = Array.isArray(given) ? given : [given];
  return tools.map((tool) => ({ type: 'custom', ...(tool as object) }) as SessionTool);
}
