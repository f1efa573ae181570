import type { TurnContext } from '../../src/steps/context.js';
import type { ToolCallRow } from '../../src/steps/tool-call.js';
import { builtInKind } from './built-in/kind.js';
import { workspaceKind, type CommandPlaces } from './built-in/workspace/kind.js';
import type { DeferralLimits } from './deferral.js';
import { mcpKind, type McpKindDeps } from './mcp/kind.js';
import { runnableTools, runsInSandbox } from './offered-tools.js';
import { outcomeUnknown } from './outcomes.js';
import { textResult } from './tool.js';
import type { ToolKind } from './tool-kind.js';

/** Finds how a call of a turn is made. */
export type FindKind = (turn: TurnContext, call: ToolCallRow) => ToolKind;

export function createFindKind(
  deps: McpKindDeps,
  places: CommandPlaces,
  limitsOf: (turn: TurnContext) => DeferralLimits,
): FindKind {
  return (turn, call) => {
    const found = runnableTools(turn, limitsOf(turn)).runnable.find(({ tool: { name } }) => name === call.name);
    if (found === undefined) return noTool(call.name);
    if (found.kind === 'mcp') return mcpKind(deps, found.tool);
    return runsInSandbox(turn, call) ? workspaceKind(deps, places, found.tool) : builtInKind(deps, found.tool);
  };
}

/** The model has invented the tool. */
function noTool(name: string): ToolKind {
  return {
    name: 'unknown',
    repeatable: false,
    run: () => Promise.resolve(textResult(`There is no tool ${name} in this turn.`, true)),
    notRepeated: () => outcomeUnknown(name),
  };
}
