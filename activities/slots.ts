import { once } from 'node:events';

/**
 * The slots of a worker (`WORKER_MAX_ACTIVITIES`). Temporal hands out no more activities than there are slots, but steps that
 * run ahead of their activities take slots too.
 */
export class Slots {
  #used = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly total: number) {}

  /** Takes a slot for a step that runs ahead, while less than half of them are in use. Returns how to give it back, once. */
  tryTake(): (() => void) | null {
    if (this.#waiting.length > 0 || this.#used >= this.total / 2) return null;
    this.#used += 1;
    let isFree = false;
    return () => {
      if (!isFree) this.#free();
      isFree = true;
    };
  }

  #free(): void {
    this.#used -= 1;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Runs the work of an activity in a slot; waits for one if steps that run ahead have them. @throws the signal's reason */
  async within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    while (this.#used >= this.total) {
      signal.throwIfAborted();
      await Promise.race([new Promise<void>((resolve) => this.#waiting.push(resolve)), once(signal, 'abort')]);
    }
    this.#used += 1;
    try {
      return await work();
    } finally {
      this.#free();
    }
  }
}
