import { endTurn } from '../../src/turns/finish.js';
import { lastModelFailure, modelOfTurn } from '../../src/steps/model-call.js';
import type { TurnOutcome } from '../../src/turns/outcome.js';
import type { TurnFailureType } from '../../src/events/fields.js';
import type { ActivityDeps } from '../deps.js';
import { runActivity } from './run-activity.js';
import type { TurnActivities, UnsuccessfulOutcome } from './turn-activities.js';

const MESSAGES: Record<TurnFailureType, string> = {
  model_error: 'The model could not be called.',
  model_overloaded: 'The model is overloaded. Send the message again later.',
  model_rate_limited: 'The model refused further calls for now (rate limit). Send the message again later.',
  context_too_long: 'The message and its results do not fit into the model’s context.',
  turn_timeout: 'The turn took longer than a turn may.',
  terminated: 'The turn was terminated by an operator.',
  internal_error: 'The turn failed for an internal reason.',
};
const FINAL: ReadonlySet<TurnFailureType> = new Set(['model_error', 'context_too_long']);

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
  return {
    kind: 'failed',
    type: ending.type,
    message: failure?.message ?? lostModel ?? MESSAGES[ending.type],
    retryable: failure?.retryable ?? !FINAL.has(ending.type),
  };
}

async function describeLostModel({ db, models }: ActivityDeps, turnId: string): Promise<string | null> {
  const modelId = await modelOfTurn(db, turnId);
  if (modelId === null || models.get(modelId) !== undefined) return null;
  return `The model ${modelId} is no longer available.`;
}
