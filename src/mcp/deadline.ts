import { McpTimeoutError } from './reasons.js';

export async function withDeadline<T>(
  seconds: number,
  signal: AbortSignal | null,
  work: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new McpTimeoutError(seconds)), seconds * 1000);
  const abort = (): void => deadline.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    return await work(deadline.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
