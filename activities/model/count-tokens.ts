import { APIError } from '@anthropic-ai/sdk';
import type { ModelRequest } from '../../src/models/request.js';
import type { ModelClient } from './clients.js';

/** Counting is a help: a server that is slow at it must not hold up the turn. */
const COUNT_TIMEOUT_MS = 10_000;

/** Counts a request's input tokens at the model's API; null where it does not count. */
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
    // A server without this operation is not asked again; any other fault shows in the call itself.
    if (error instanceof APIError && (error.status === 404 || error.status === 405 || error.status === 501)) {
      model.countsTokens = false;
    }
    return null;
  }
}
