import { isApiError } from '../../src/models/api-error.js';
import type { ModelRequest } from '../../src/models/request.js';
import type { ModelClient } from './clients.js';

/** The count is optional: a server that counts slowly must not delay the turn. */
const COUNT_TIMEOUT_MS = 10_000;

/** Asks the model's API for a request's input tokens. Returns null if the API cannot count. */
export async function countTokens(
  model: ModelClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<number | null> {
  if (!model.countsTokens) return null;
  const { max_tokens: _, ...counted } = request;
  try {
    const { input_tokens } = await model.api.messages.countTokens(counted, { signal, timeout: COUNT_TIMEOUT_MS });
    return typeof input_tokens === 'number' ? input_tokens : null;
  } catch (error) {
    signal.throwIfAborted();
    // A server without this operation is not asked again. Other errors will show up in the call itself.
    if (isApiError(error) && (error.status === 404 || error.status === 405 || error.status === 501)) {
      model.countsTokens = false;
    }
    return null;
  }
}
