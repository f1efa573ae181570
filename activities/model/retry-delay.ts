import type { ModelCall, ModelFailure } from '../../src/steps/model-call.js';

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** From then on a server that asks for less than the pause gets the pause: it would be called without end. */
const MAX_SHORT_WAITS = 5;
/** The last attempt is due this much before the end: Temporal takes a moment to begin it. */
const END_LEAD_MS = 100;
/** With less time left than this, the attempt that failed was the last one. */
const MIN_LEFT_MS = 300;

/**
 * Milliseconds until a failed call is tried again; null if it is not (docs/decisions.md "Results", "A model that is away"). The
 * pauses grow; the last attempt falls at the end of the time.
 */
export function retryDelay(
  { retryable, retryAfterMs }: ModelFailure,
  { failures, failingForMs }: Pick<ModelCall, 'failures' | 'failingForMs'>,
  retrySeconds: number,
): number | null {
  const leftMs = retrySeconds * 1000 - failingForMs;
  if (!retryable || leftMs < MIN_LEFT_MS) return null;
  const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
  const untilEndMs = leftMs - END_LEAD_MS;
  if (retryAfterMs === undefined) return Math.min(pauseMs, untilEndMs);
  if (retryAfterMs > leftMs) return null;
  return failures < MAX_SHORT_WAITS ? retryAfterMs : Math.max(retryAfterMs, Math.min(pauseMs, untilEndMs));
}
