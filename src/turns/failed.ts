import type { TurnFailureType } from '../events/fields.js';
import type { TurnOutcome } from './outcome.js';

/** What `turn.failed` says if nothing more is known of the failure. */
const MESSAGES: Record<TurnFailureType, string> = {
  model_error: 'The model could not be called.',
  model_overloaded: 'The model is overloaded. Send the message again later.',
  model_rate_limited: 'The model refused further calls for now (rate limit). Send the message again later.',
  context_too_long: 'The message and its results do not fit into the model’s context.',
  turn_timeout: 'The turn exceeded its time limit.',
  terminated: 'The turn was terminated by an operator.',
  internal_error: 'The turn failed because of an internal error.',
};
const FINAL: ReadonlySet<TurnFailureType> = new Set(['model_error', 'context_too_long']);

export function failed(type: TurnFailureType): Extract<TurnOutcome, { kind: 'failed' }> {
  return { kind: 'failed', type, message: MESSAGES[type], retryable: !FINAL.has(type) };
}
