import type { BuiltInTool, ToolDeps } from '../tool.js';
import type { TurnTool } from '../tool-source.js';
import { builtInKind } from './kind.js';

/** A tool of the service's own, whose calls need no answer. */
export function builtInTool(deps: ToolDeps, tool: BuiltInTool): TurnTool {
  return {
    definition: tool,
    shown: 'always',
    permission: 'allow',
    isSerial: false,
    owner: null,
    kindOf: () => builtInKind(deps, tool),
  };
}
