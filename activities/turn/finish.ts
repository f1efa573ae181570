import { failed, type TurnOutcome } from '../../src/turns/outcome.js';
import { endTurn } from '../../src/turns/end.js';
import { lastModelFailure, modelOfTurn } from '../../src/steps/last-failure.js';
import type { ActivityDeps } from '../deps.js';
import { runActivity } from './run-activity.js';
import { describeTooLargeTools } from './too-large-tools.js';
import type { TurnActivities, UnsuccessfulOutcome } from './turn-activities.js';

/** Ends a turn that was cancelled or has failed. A turn that has already ended does not change. */
export function finishTurn(deps: ActivityDeps): TurnActivities['finishTurn'] {
  return ({ turnId, ending }) =>
    runActivity(deps, { turn_id: turnId }, async () => {
      await endTurn(deps, turnId, await describeOutcome(deps, turnId, ending), { hasBegun: ending.kind === 'failed' });
    });
}

async function describeOutcome(deps: ActivityDeps, turnId: string, ending: UnsuccessfulOutcome): Promise<TurnOutcome> {
  if (ending.kind === 'cancelled') return ending;
  const last = await lastModelFailure(deps.db, turnId);
  const failure = last?.type === ending.type ? last : null;
  const lostModel = ending.type === 'model_error' && failure === null ? await describeLostModel(deps, turnId) : null;
  const tooLarge = ending.type === 'context_too_long' ? await describeTooLargeTools(deps, turnId) : null;
  const outcome = failed(ending.type);
  return {
    ...outcome,
    message: tooLarge ?? failure?.message ?? lostModel ?? outcome.message,
    retryable: failure?.retryable ?? outcome.retryable,
  };
}

async function describeLostModel({ db, models }: ActivityDeps, turnId: string): Promise<string | null> {
  const modelId = await modelOfTurn(db, turnId);
  if (modelId === null || models.get(modelId) !== undefined) return null;
  return `The model ${modelId} is no longer available.`;
}
