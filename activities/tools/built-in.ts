import type { TurnContext } from '../turn-context.js';
import type { BuiltInTool } from './tool.js';

/** The service's own tools for a turn (contract.md §4), in a fixed order. */
export function builtInTools(_turn: Pick<TurnContext, 'skills'>): BuiltInTool[] {
  return [];
}
