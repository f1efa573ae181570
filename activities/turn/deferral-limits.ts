import type { TurnContext } from '../../src/steps/context.js';
import type { ActivityDeps } from '../deps.js';
import type { DeferralLimits } from '../tools/deferral.js';

/** A model that is gone from the catalogue has no window: its turn goes on with another, or fails. */
export function deferralLimits(
  { config, models }: Pick<ActivityDeps, 'config' | 'models'>,
  turn: TurnContext,
): DeferralLimits {
  const { toolDefinitionTokens } = config;
  return { toolDefinitionTokens, contextWindow: models.get(turn.modelId)?.entry.context_window ?? Infinity };
}
