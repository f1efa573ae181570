import type { ToolDefinition } from '../../src/models/request.js';
import { mustAsk } from '../../src/sessions/tools.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { CallPermission } from '../../src/steps/step-calls.js';
import { builtInTools } from './built-in/index.js';
import { mcpToolsOf, type McpServerTool } from './mcp/names.js';
import type { BuiltInTool } from './tool.js';

/** A tool that the turn offers. Built-in tools are repeatable: their effects are keyed by the call. */
export type OfferedTool =
  | { kind: 'built-in'; tool: BuiltInTool; repeatable: true }
  | { kind: 'mcp'; tool: McpServerTool; repeatable: boolean }
  /** Run by the client. */
  | { kind: 'custom'; tool: ToolDefinition; repeatable: false };

/**
 * The tools of a turn, the same at each step: first the built-in tools, then those of the connected MCP servers in the
 * session's order, then the client's tools.
 */
export function offeredTools(turn: TurnContext): OfferedTool[] {
  return [
    ...builtInTools(turn).map((tool) => ({ kind: 'built-in', tool, repeatable: true }) as const),
    ...mcpToolsOf(turn.servers).map((tool) => ({ kind: 'mcp', tool, repeatable: tool.repeatable }) as const),
    ...turn.customTools.map(
      ({ name, description, input_schema: inputSchema }) =>
        ({ kind: 'custom', tool: { name, description, inputSchema }, repeatable: false }) as const,
    ),
  ];
}

/** Finds an offered tool by its full name; undefined if the model invented the name. */
export function findTool(offered: readonly OfferedTool[], name: string): OfferedTool | undefined {
  return offered.find(({ tool }) => tool.name === name);
}

/** Returns whether a call may run, must ask, or runs at the client (contract.md §6); null in a session without `tools`. */
export function permissionOf(
  { tools }: TurnContext,
  offered: readonly OfferedTool[],
  name: string,
): CallPermission | null {
  if (tools.length === 0) return null;
  const found = findTool(offered, name);
  if (found?.kind === 'custom') return 'custom';
  const asks = found?.kind === 'mcp' && mustAsk(tools, found.tool.serverId, found.tool.toolName);
  return asks ? 'ask' : 'allow';
}
