import type { ToolDefinition } from '../../src/models/request.js';
import { asks, DELIVER_FILE, isWorkspaceTool, mustAsk } from '../../src/sessions/tools.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { RequestContext } from '../../src/steps/conversation.js';
import type { CallPermission } from '../../src/steps/step-calls.js';
import { giveOutput } from './built-in/give-output.js';
import { builtInTools } from './built-in/index.js';
import { searchToolsTool } from './built-in/search-tools.js';
import { deferTools, type Deferral, type DeferralLimits } from './deferral.js';
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

/** The tools of a turn, the same at each step, and which of them the model must find first. */
interface TurnTools {
  /** All that a call may name. */
  offered: OfferedTool[];
  deferral: Deferral;
}

/**
 * First the built-in tools, then those of the connected MCP servers in the session's order, then the client's tools, then
 * the one that ends the turn with an output.
 */
export function offerTools(
  { turn, customTools, outputSchema }: Omit<RequestContext, 'conversation' | 'bytes'>,
  limits: DeferralLimits,
): TurnTools {
  const { runnable, deferral } = runnableTools(turn, limits);
  const output = outputSchema === null ? [] : [giveOutput(outputSchema)];
  // A session may have a tool of its own whose name was free when it was created.
  const taken = new Set([...runnable.map(({ tool }) => tool.name), ...output.map(({ name }) => name)]);
  const offered = [
    ...runnable,
    ...customTools
      .filter(({ name }) => !taken.has(name))
      .map(
        ({ name, description, input_schema: inputSchema }) =>
          ({ kind: 'custom', tool: { name, description, inputSchema }, repeatable: false }) as const,
      ),
    ...output.map((tool) => ({ kind: 'output', tool, repeatable: false }) as const),
  ];
  return { offered, deferral };
}

export function runnableTools(
  turn: TurnContext,
  limits: DeferralLimits,
): { runnable: RunnableTool[]; deferral: Deferral } {
  const mcpTools = mcpToolsOf(turn.servers);
  const deferral = deferTools(mcpTools, turn.toolsets, limits);
  const builtIn = [...builtInTools(turn), ...(deferral.deferred.size > 0 ? [searchToolsTool(deferral)] : [])];
  const runnable = [
    ...builtIn.map((tool) => ({ kind: 'built-in', tool, repeatable: true }) as const),
    ...mcpTools.map((tool) => ({ kind: 'mcp', tool, repeatable: tool.repeatable }) as const),
  ];
  return { runnable, deferral };
}

/** The definitions that the model gets: a deferred tool is there once it is found, after all others but the output's. */
export function definitionsOf(
  { offered, deferral: { deferred } }: TurnTools,
  found: readonly string[],
): ToolDefinition[] {
  const shown = offered.filter(({ kind, tool }) => kind !== 'output' && !deferred.has(tool.name));
  const output = offered.filter(({ kind }) => kind === 'output');
  return [
    ...shown.map(({ tool }) => tool),
    ...found.map((name) => deferred.get(name)!),
    ...output.map(({ tool }) => tool),
  ];
}

/** Returns for each offered tool whether a call may run, must ask, or runs at the client (docs/contract.md §6). */
export function permissionsOf(
  { toolsets, workspace }: TurnContext,
  offered: OfferedTool[],
): Map<string, CallPermission> {
  return new Map(
    offered.map((one): [string, CallPermission] => {
      if (one.kind === 'custom') return [one.tool.name, 'custom'];
      const mustBeAsked =
        one.kind === 'mcp'
          ? mustAsk(toolsets, one.tool.serverId, one.tool.toolName)
          : workspace !== null && isWorkspaceTool(one.tool.name) && asks(workspace.entry, one.tool.name);
      return [one.tool.name, mustBeAsked ? 'ask' : 'allow'];
    }),
  );
}

/** The tools that may use the workspace: calls of them in one step run one after another. */
export function serialToolsOf({ workspace }: Pick<TurnContext, 'workspace'>, offered: OfferedTool[]): Set<string> {
  if (workspace === null) return new Set();
  const names = offered.map(({ tool }) => tool.name);
  return new Set(names.filter((name) => isWorkspaceTool(name) || name === DELIVER_FILE));
}

/** True for a call that needs a sandbox. */
export function runsInSandbox(
  { workspace }: Pick<TurnContext, 'workspace'>,
  { name, input }: { name: string; input: Record<string, unknown> },
): boolean {
  if (workspace === null) return false;
  return isWorkspaceTool(name) || (name === DELIVER_FILE && input.path !== undefined);
}
