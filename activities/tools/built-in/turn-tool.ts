import type { ToolDefinition } from '../../../src/models/request.js';
import type { BuiltInTool, ToolDeps } from '../tool.js';
import type { TurnTool } from '../tool-source.js';
import { builtInKind } from './kind.js';

/** A tool of the service's own, whose calls need no answer. */
export function ownTool(definition: ToolDefinition, kindOf: TurnTool['kindOf']): TurnTool {
  return { definition, shown: 'always', permission: 'allow', isSerial: false, owner: null, kindOf };
}

export function builtInTool(deps: ToolDeps, tool: BuiltInTool): TurnTool {
  return ownTool(tool, () => builtInKind(deps, tool));
}
