import type { GuardedNetwork } from '../../src/network/network.js';
import { RedirectError, UnsafeAddressError } from '../../src/network/network.js';
import { connectionFailure } from '../../src/network/failures.js';
import type { AttemptResult } from '../../src/webhooks/attempts.js';
import { parseRetryAfter } from '../../src/platform/retry-after.js';
import { ignored } from '../../src/platform/ignored.js';

const ATTEMPT_TIMEOUT_SECONDS = 15;
/** Only the headers of an answer are read. */
const NO_BODY = { bytes: 0 };

/** The outcome of an attempt, as counted in the metrics. */
type AttemptOutcome = 'delivered' | 'refused' | 'redirected' | 'timeout' | 'unsafe_address' | 'no_answer' | 'no_secret';

export type PostResult = Omit<AttemptResult, 'at' | 'duration_ms'> & { outcome: AttemptOutcome };

/**
 * Sends one request and reads only the status of the answer, not its body. Redirects are not followed.
 * @throws the abort reason of `signal`
 */
export async function postWebhook(
  network: GuardedNetwork,
  url: string,
  request: { headers: Record<string, string>; body: string },
  signal: AbortSignal,
): Promise<PostResult> {
  const timeout = AbortSignal.timeout(ATTEMPT_TIMEOUT_SECONDS * 1000);
  const aborted = new AbortController();
  try {
    const response = await network.fetch(
      new URL(url),
      { method: 'POST', ...request, signal: AbortSignal.any([timeout, signal, aborted.signal]) },
      { left: NO_BODY, maxRedirects: 0 },
    );
    // Closes the connection, because the body may be endless.
    aborted.abort();
    void response.body?.cancel().catch(ignored('the status is the answer'));
    return resultOf(response);
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(error, timeout.aborted);
  }
}

function resultOf({ ok, status, headers }: Response): PostResult {
  return {
    outcome: ok ? 'delivered' : 'refused',
    status,
    error: ok ? null : `The receiver answered ${status}.`,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after'), Date.now()),
  };
}

/** Fixed texts, so that nothing the receiver sent is stored. */
function failureOf(error: unknown, isTimeout: boolean): PostResult {
  const failed = (outcome: AttemptOutcome, text: string, status: number | null = null): PostResult => ({
    outcome,
    status,
    error: text,
    retryAfterSeconds: null,
  });
  if (isTimeout) return failed('timeout', `The receiver did not answer within ${ATTEMPT_TIMEOUT_SECONDS} s.`);
  if (error instanceof RedirectError) {
    return failed('redirected', `The receiver answered ${error.status}: redirects are not followed.`, error.status);
  }
  const cause = error instanceof Error ? error.cause : undefined;
  if (error instanceof UnsafeAddressError || cause instanceof UnsafeAddressError) {
    return failed('unsafe_address', 'The address of the receiver is not public, or the url is not https.');
  }
  const reason = connectionFailure(error) ?? 'its answer is not HTTP';
  return failed('no_answer', `The receiver could not be reached: ${reason}.`);
}
