import type { ToolDefinition } from '../../src/models/request.js';
import { mustAsk } from '../../src/sessions/tools.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { RequestContext } from '../../src/steps/conversation.js';
import type { CallPermission } from '../../src/steps/step-calls.js';
import { giveOutput } from './built-in/give-output.js';
import { builtInTools } from './built-in/index.js';
import { mcpToolsOf, type McpServerTool } from './mcp/names.js';
import type { BuiltInTool } from './tool.js';

/** A tool that the worker runs. Built-in tools are repeatable: their effects are keyed by the call. */
export type RunnableTool =
  | { kind: 'built-in'; tool: BuiltInTool; repeatable: true }
  | { kind: 'mcp'; tool: McpServerTool; repeatable: boolean };

type OfferedTool =
  | RunnableTool
  /** Run by the client. */
  | { kind: 'custom'; tool: ToolDefinition; repeatable: false }
  /** Run by nobody: it ends the turn. */
  | { kind: 'output'; tool: ToolDefinition; repeatable: false };

/**
 * The tools of a turn, the same at each step: first the built-in tools, then those of the connected MCP servers in the
 * session's order, then the client's tools, then the one that ends the turn with an output.
 */
export function offeredTools({
  turn,
  customTools,
  outputSchema,
}: Omit<RequestContext, 'conversation' | 'bytes'>): OfferedTool[] {
  const output = outputSchema === null ? [] : [giveOutput(outputSchema)];
  return [
    ...runnableTools(turn),
    ...customTools
      // A session may have a tool of its own whose name was free when it was created.
      .filter(({ name }) => !output.some((tool) => tool.name === name))
      .map(
        ({ name, description, input_schema: inputSchema }) =>
          ({ kind: 'custom', tool: { name, description, inputSchema }, repeatable: false }) as const,
      ),
    ...output.map((tool) => ({ kind: 'output', tool, repeatable: false }) as const),
  ];
}

export function runnableTools(turn: TurnContext): RunnableTool[] {
  return [
    ...builtInTools(turn).map((tool) => ({ kind: 'built-in', tool, repeatable: true }) as const),
    ...mcpToolsOf(turn.servers).map((tool) => ({ kind: 'mcp', tool, repeatable: tool.repeatable }) as const),
  ];
}

/** Returns for each offered tool whether a call may run, must ask, or runs at the client (docs/contract.md §6). */
export function permissionsOf({ toolsets }: TurnContext, offered: OfferedTool[]): Map<string, CallPermission> {
  return new Map(
    offered.map((one): [string, CallPermission] => {
      if (one.kind === 'custom') return [one.tool.name, 'custom'];
      const asks = one.kind === 'mcp' && mustAsk(toolsets, one.tool.serverId, one.tool.toolName);
      return [one.tool.name, asks ? 'ask' : 'allow'];
    }),
  );
}
