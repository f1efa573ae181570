import type { TurnContext } from '../turn/turn-context.js';
import { builtInTools } from './built-in/index.js';
import { mcpToolsOf, type OfferedTool } from './mcp/call.js';
import type { BuiltInTool } from './tool.js';

/** A tool that the turn offers. Built-ins may be repeated: what they do is keyed by the call. */
export type FoundTool =
  { kind: 'built-in'; tool: BuiltInTool; repeatable: true } | { kind: 'mcp'; tool: OfferedTool; repeatable: boolean };

/** The turn's tool of that full name; null when the model made it up. */
export function findTool(turn: TurnContext, name: string): FoundTool | null {
  const tool = builtInTools(turn).find((one) => one.name === name);
  if (tool !== undefined) return { kind: 'built-in', tool, repeatable: true };
  const remote = mcpToolsOf(turn.servers).find((one) => one.name === name);
  return remote === undefined ? null : { kind: 'mcp', tool: remote, repeatable: remote.repeatable };
}
