import { totalmem } from 'node:os';

export const MIB = 1024 * 1024;
/** Share of a process' memory for the bytes of requests and results in flight. */
const DEFAULT_SHARE = 1 / 8;
const MIN_DEFAULT_BYTES = 64 * MIB;

/** The default budget: a share of the container's memory limit, or of the machine's memory. */
export function defaultByteBudget(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.max(MIN_DEFAULT_BYTES, Math.floor(memory * DEFAULT_SHARE));
}

interface Waiting {
  bytes: number;
  admit: () => void;
}

/**
 * Limits the bytes in flight in this process. Work waits in the order of arrival, so that small requests cannot starve
 * a large one. A request larger than the whole budget runs alone.
 */
export class ByteBudget {
  #used = 0;
  #queue: Waiting[] = [];

  constructor(readonly total: number) {}

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits for `bytes` of the budget; returns the function that releases them. @throws the reason of `signal` if it
   * aborts
   */
  async take(bytes: number, signal?: AbortSignal | null): Promise<() => void> {
    signal?.throwIfAborted();
    const share = Math.min(bytes, this.total);
    if (this.#queue.length === 0 && this.#used + share <= this.total) this.#used += share;
    else await this.#wait(share, signal ?? null);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= share;
      this.#admitNext();
    };
  }

  #wait(bytes: number, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        reject(signal!.reason as Error);
        this.#admitNext();
      };
      const waiting = {
        bytes,
        admit: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      this.#queue.push(waiting);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  #admitNext(): void {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (this.#used + next.bytes > this.total) return;
      this.#queue.shift();
      this.#used += next.bytes;
      next.admit();
    }
  }
}
