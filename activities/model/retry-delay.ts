import type { ModelCall, ModelFailure } from '../../src/steps/model-call.js';

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** From then on a server that asks for less than the pause gets the pause: it would be called without end. */
const MAX_SHORT_WAITS = 5;
/** With less time left than this, the attempt that just failed was the one at the end. */
const END_MARGIN_MS = 100;

/**
 * Milliseconds until a failed call is tried again; null if it is not (docs/contract.md §13 "A model that is away"). The
 * pauses grow; the last attempt falls at the end of the time.
 */
export function retryDelay(
  { retryable, retryAfterMs }: ModelFailure,
  { failures, failingForMs }: Pick<ModelCall, 'failures' | 'failingForMs'>,
  retrySeconds: number,
): number | null {
  const leftMs = retrySeconds * 1000 - failingForMs;
  if (!retryable || leftMs < END_MARGIN_MS) return null;
  const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
  if (retryAfterMs === undefined) return Math.min(pauseMs, leftMs);
  if (retryAfterMs > leftMs) return null;
  return failures < MAX_SHORT_WAITS ? retryAfterMs : Math.min(Math.max(retryAfterMs, pauseMs), leftMs);
}
