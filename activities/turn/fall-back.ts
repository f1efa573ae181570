import { ApplicationFailure } from '@temporalio/common';
import { FALLBACK_REASONS } from '../../src/events/fields.js';
import { changeModel, loadTurnModels, nextModel } from '../../src/steps/model-change.js';
import type { TurnContext } from '../../src/steps/context.js';
import { claimTurn } from '../../src/turns/begin.js';
import type { ActivityDeps } from '../deps.js';

/**
 * Runs work that calls the model of a turn. If a call fails for good, the turn goes on with its next fallback model and the
 * work runs again; after the last one the failure stands. `isAgain` is true when the work runs again.
 */
export async function withFallback<T>(
  deps: ActivityDeps,
  turnId: string,
  work: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work(isAgain);
    } catch (error) {
      if (!(await fallBack(deps, turnId, error))) throw error;
    }
  }
}

async function fallBack(deps: ActivityDeps, turnId: string, error: unknown): Promise<boolean> {
  if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) return false;
  const reason = FALLBACK_REASONS.find((type) => type === error.type);
  if (reason === undefined) return false;
  const models = await loadTurnModels(deps.db, turnId);
  const to = nextModel(models, isUsable(deps, models.hasBudget));
  if (to === null) return false;
  // A model that is gone from the catalogue fails before the first call has claimed the turn.
  await claimTurn(deps, turnId);
  await changeModel(deps, turnId, models, { from: models.modelId, to, reason });
  deps.log.warn({ turn_id: turnId, model: to, reason }, 'a turn goes on with a fallback model');
  return true;
}

/** Whether a turn can go on with a model: the catalogue has it, with a price beside a budget. A later version of an agent may name another one. */
function isUsable({ models }: Pick<ActivityDeps, 'models'>, hasBudget: boolean): (modelId: string) => boolean {
  return (id) => {
    const client = models.get(id);
    return client !== undefined && (!hasBudget || client.called.price !== null);
  };
}

/** How long a failed call of the turn's model is tried again: less while there is a model to fall back to. */
export function retrySecondsOf(
  { config, models }: Pick<ActivityDeps, 'config' | 'models'>,
  turn: Parameters<typeof nextModel>[0] & Pick<TurnContext, 'budget'>,
): number {
  const hasNext = nextModel(turn, isUsable({ models }, turn.budget !== null)) !== null;
  return hasNext ? Math.min(config.fallbackAfterSeconds, config.modelRetrySeconds) : config.modelRetrySeconds;
}
