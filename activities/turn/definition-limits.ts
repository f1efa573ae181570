import type { TurnContext } from '../../src/steps/context.js';
import type { ActivityDeps } from '../deps.js';
import type { DefinitionLimits } from '../tools/definition-bytes.js';

/** A model that is gone from the catalogue has no window: its turn goes on with another, or fails. */
export function definitionLimits(
  { config, models }: Pick<ActivityDeps, 'config' | 'models'>,
  turn: TurnContext,
): DefinitionLimits {
  const { toolDefinitionTokens } = config;
  return { toolDefinitionTokens, contextWindow: models.get(turn.modelId)?.entry.context_window ?? Infinity };
}
