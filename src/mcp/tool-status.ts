import type { McpServerRow } from '../db/entities/mcp-servers.js';

/** `offered`: turns offer the tool. Otherwise the reason why they do not. */
export type ToolStatus = 'offered' | 'not_allowed' | 'held_back';

type Choice = Pick<McpServerRow, 'allowed_tools' | 'changed_tools'>;

/** `held_back`: a person has to accept the tool first, because it is new or has changed. */
export function toolStatuses({ allowed_tools, changed_tools }: Choice): (toolName: string) => ToolStatus {
  const allowed = allowed_tools === null ? null : new Set(allowed_tools);
  const changed = new Set(changed_tools.map(({ name }) => name));
  return (name) => {
    if (allowed !== null && !allowed.has(name)) return 'not_allowed';
    return changed.has(name) ? 'held_back' : 'offered';
  };
}

/** The answer to a call of a tool that turns do not offer; null if it may be sent. */
export function refusalOf(server: Choice & Pick<McpServerRow, 'name'>, toolName: string): string | null {
  const status = toolStatuses(server)(toolName);
  if (status === 'not_allowed') return `The tool ${toolName} of the MCP server ${server.name} is not allowed.`;
  if (status === 'offered') return null;
  return `The tool ${toolName} of the MCP server ${server.name} has changed and is held back until a person accepts it.`;
}
