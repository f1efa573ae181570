import { askedTool, type AskedTool } from '../../src/mcp/asked-tool.js';
import type { ToolDefinition } from '../../src/models/request.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { CallApproval, CallPermission, NamedCall } from '../../src/steps/step-calls.js';
import type { DefinitionLimits } from './definition-bytes.js';
import { outcomeUnknown } from './outcomes.js';
import { textResult } from './tool.js';
import type { ToolKind } from './tool-kind.js';
import type { ToolContext, ToolSource, TurnTool } from './tool-source.js';

type Sources = readonly ToolSource[];

/** What the calls of an offered tool need. */
export interface OfferedPermission {
  permission: CallPermission;
  approvers: readonly string[];
  asksEverywhere: boolean;
}

/** What a call with an input needs, by the full name of its tool. */
export type Permissions = ReadonlyMap<string, (input: Record<string, unknown>) => OfferedPermission>;

/** What a call needs in a turn, whose session has `tools` or not. Its name may be one that the turn does not offer. */
export function approvalOf(permissions: Permissions, hasTools: boolean, { name, input }: NamedCall): CallApproval {
  const { permission, approvers, asksEverywhere } = permissions.get(name)?.(input) ?? ALLOWED;
  return { permission: hasTools || asksEverywhere ? permission : null, approvers };
}

const ALLOWED: OfferedPermission = { permission: 'allow', approvers: [], asksEverywhere: false };

/** The tools of a turn, in the order of the sources. A tool that the client runs gives way to another one of its name. */
export function offerTools(sources: Sources, context: ToolContext, limits: DefinitionLimits): TurnTool[] {
  const tools = sources.flatMap((source) => source.tools(context, limits));
  const isOfClient = ({ permission }: TurnTool): boolean => permission === 'custom';
  // A session may have a tool of its own whose name was free when it was created.
  const taken = new Set(tools.filter((tool) => !isOfClient(tool)).map(({ definition: { name } }) => name));
  return tools.filter((tool) => !isOfClient(tool) || !taken.has(tool.definition.name));
}

/**
 * The definitions that the model gets.
 * @param found names of deferred tools, in the order in which the model has found them
 */
export function definitionsOf(tools: readonly TurnTool[], found: readonly string[]): ToolDefinition[] {
  const shown = (when: TurnTool['shown']): ToolDefinition[] =>
    tools.filter((tool) => tool.shown === when).map(({ definition }) => definition);
  const deferred = new Map(shown('found').map((definition) => [definition.name, definition]));
  return [...shown('always'), ...found.map((name) => deferred.get(name)!), ...shown('last')];
}

/** What the calls of each tool need, by its full name. */
export function permissionsOf(tools: readonly TurnTool[]): Permissions {
  return new Map(tools.map((tool) => [tool.definition.name, permissionOfCalls(tool)] as const));
}

/** A function that does not keep the tool: its definition may be large, and the model may take minutes to answer. */
function permissionOfCalls({
  permission,
  approvers = [],
  asksEverywhere = false,
  permissionOf,
}: TurnTool): (input: Record<string, unknown>) => OfferedPermission {
  const ofAll = { permission, approvers, asksEverywhere };
  return permissionOf === undefined ? () => ofAll : (input) => ({ ...ofAll, ...permissionOf(input) });
}

export function serialToolsOf(tools: readonly TurnTool[]): Set<string> {
  return new Set(tools.filter(({ isSerial }) => isSerial).map(({ definition: { name } }) => name));
}

/** The tools of calls that a person allows, each as it is for its call; null if a tool is not known. */
export function askedToolsOf(
  sources: Sources,
  turn: TurnContext,
  calls: readonly NamedCall[],
  limits: DefinitionLimits,
): (AskedTool | null)[] {
  // Nobody asks a child session for what it remembers.
  const mayRemember = turn.parentTurnId === null;
  const offered = offerTools(sources, { turn, customTools: [], outputSchema: null }, limits);
  const tools = new Map(offered.map((tool) => [tool.definition.name, tool]));
  return calls.map(({ name, input }) => {
    const tool = tools.get(name);
    if (tool?.asked === undefined) return null;
    const { approvers, asksEverywhere } = permissionOfCalls(tool)(input);
    const changeSchema = tool.changeSchemaOf?.(input) ?? tool.asked.inputSchema;
    return askedTool(tool.asked, { approvers, mayRemember: mayRemember && !asksEverywhere }, changeSchema);
  });
}

/** Finds how a call of a turn is made. */
export function kindOfCall(
  sources: Sources,
  turn: TurnContext,
  { name, input }: { name: string; input: Record<string, unknown> },
  limits: DefinitionLimits,
): ToolKind {
  // Tools that need the rest of the context do not run.
  const tools = offerTools(sources, { turn, customTools: [], outputSchema: null }, limits);
  return tools.find(({ definition }) => definition.name === name)?.kindOf(input) ?? noTool(name);
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
