/** @internal Resolves after `ms`. Rejects with the signal's reason if it aborts first. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}

const FIRST_MS = 500;
const MAX_DURATION_MS = 8_000;

/** @internal Exponential backoff with jitter, so that clients do not retry at the same moment. */
export function backOff(failures: number, firstMs = FIRST_MS): number {
  const ms = Math.min(firstMs * 2 ** failures, Math.max(MAX_DURATION_MS, firstMs));
  return ms / 2 + (Math.random() * ms) / 2;
}
