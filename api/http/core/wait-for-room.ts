import type { ServerResponse } from 'node:http';

/**
 * Waits for a place or for memory, until the time is over or the client has gone.
 * @param take waits, and ends with the signal's reason
 * @param refusal what the request is answered when the time is over
 */
export async function waitForRoom<T>(
  res: ServerResponse,
  timeoutMs: number,
  take: (signal: AbortSignal) => Promise<T>,
  refusal: () => Error,
): Promise<T> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort(refusal());
  const timer = setTimeout(giveUp, timeoutMs);
  res.once('close', giveUp);
  if (res.closed) giveUp();
  try {
    return await take(stop.signal);
  } finally {
    clearTimeout(timer);
    res.off('close', giveUp);
  }
}
