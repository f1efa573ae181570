import { asJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import { ModelStreamError } from './failures.js';

/** Stop reasons that end the turn even if the answer has tool uses: those may be incomplete, so they are not called. */
export const ENDS_EARLY: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal']);

/** The words of other APIs that gateways pass on. */
const WORDS = new Map([
  ['stop', 'end_turn'],
  ['eos', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
  ['safety', 'refusal'],
  ['sensitive', 'refusal'],
]);

/** An answer that ends for such a reason is not whole. */
const BROKEN = /^(error|abort(ed)?|cancell?ed|network_error|insufficient_system_resource|malformed_function_call)$/;
const WORD = /^[\w-]{1,64}$/;

/**
 * The stop reason of a `message_delta`, in the words of the Messages API; null if it has none. An unknown word is kept,
 * because the API may get new ones.
 * @throws ModelStreamError for a reason that says that the answer broke off
 */
export function stopReasonIn(event: JsonObject): string | null {
  const { stop_reason: reason } = asJsonObject(event.delta);
  if (typeof reason !== 'string' || !WORD.test(reason)) return null;
  const word = reason.toLowerCase();
  if (BROKEN.test(word)) throw new ModelStreamError(`The model’s answer broke off (stop reason "${word}").`);
  return WORDS.get(word) ?? word;
}
