import type { MemoryShare } from '../platform/memory-share.js';
import { ignored } from '../platform/ignored.js';
import { BYTES_PER_JSON_VALUE } from '../platform/value-count.js';
import type { OnLarge } from './transport/answer-body.js';

/** Memory for a byte of an answer: as bytes, as text and as parsed JSON. Measured: 3, with one wide character 5. */
const MEMORY_FACTOR = 5;
const PROGRESS_INTERVAL_MS = 1000;

interface LargeAnswerOptions {
  memory: MemoryShare;
  projectId: string;
  signal: AbortSignal;
  /** The most JSON values that the answer may have. */
  maxValues: number;
  /** Runs every second while the answer waits. */
  onWait?: () => void;
}

/**
 * Runs a request whose answer may be large. `onLarge` then waits for a share of the process' memory, which `work`
 * holds until it ends.
 */
export async function withLargeAnswer<T>(
  { memory, projectId, signal, maxValues, onWait = () => undefined }: LargeAnswerOptions,
  work: (onLarge: OnLarge) => Promise<T>,
): Promise<T> {
  const shares: Promise<() => void>[] = [];
  const onLarge = async (bytes: number): Promise<void> => {
    if (shares.length > 0) return;
    const share = memory.take(
      MEMORY_FACTOR * bytes + BYTES_PER_JSON_VALUE * Math.min(maxValues, bytes),
      signal,
      projectId,
    );
    shares.push(share);
    const waiting = setInterval(onWait, PROGRESS_INTERVAL_MS);
    await share.finally(() => clearInterval(waiting));
  };
  try {
    return await work(onLarge);
  } finally {
    for (const share of shares) share.then((giveBack) => giveBack()).catch(ignored('no share was taken'));
  }
}
