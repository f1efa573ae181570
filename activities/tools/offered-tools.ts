import { mustAsk, type CustomTool } from '../../src/sessions/tools.js';
import type { TurnContext } from '../../src/turns/context.js';
import type { CallPermission } from '../../src/turns/step-calls.js';
import { builtInTools } from './built-in/index.js';
import { mcpToolsOf, type OfferedTool } from './mcp/call.js';
import type { BuiltInTool } from './tool.js';

/** A tool that the turn offers. Built-ins may be repeated: what they do is keyed by the call. */
export type FoundTool =
  | { kind: 'built-in'; tool: BuiltInTool; repeatable: true }
  | { kind: 'mcp'; tool: OfferedTool; repeatable: boolean }
  /** Run by the client. */
  | { kind: 'custom'; tool: CustomTool; repeatable: false };

/** The turn's tool of that full name; null when the model made it up. */
export function findTool(turn: TurnContext, name: string): FoundTool | null {
  const tool = builtInTools(turn).find((one) => one.name === name);
  if (tool !== undefined) return { kind: 'built-in', tool, repeatable: true };
  const remote = mcpToolsOf(turn.servers).find((one) => one.name === name);
  if (remote !== undefined) return { kind: 'mcp', tool: remote, repeatable: remote.repeatable };
  const custom = turn.customTools.find((one) => one.name === name);
  return custom === undefined ? null : { kind: 'custom', tool: custom, repeatable: false };
}

/** What a call needs before it runs (contract.md §6); null in a session without `tools`. */
export function permissionOf(turn: TurnContext, name: string): CallPermission | null {
  if (turn.tools.length === 0) return null;
  const found = findTool(turn, name);
  if (found?.kind === 'custom') return 'custom';
  const asks = found?.kind === 'mcp' && mustAsk(turn.tools, found.tool.serverId, found.tool.toolName);
  return asks ? 'ask' : 'allow';
}
