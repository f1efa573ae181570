import { setTimeout as sleep } from 'node:timers/promises';

/** Results of tasks that are read in parallel, as many as tool calls run in parallel. */
const PARALLEL = 16;

interface ReadableTask {
  index: number;
  task: { lostReads: number };
}

/** The results that one attempt reads at the same time. */
export class Reads {
  readonly #open = new Map<number, { done: Promise<void>; isSuspect: boolean }>();
  #failure: { error: unknown } | null = null;

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Indices of the calls whose results are read now. */
  get indices(): Set<number> {
    return new Set(this.#open.keys());
  }

  /**
   * Begins as many as may be read now, those first that no worker was lost to. A result that may have taken a worker down is read alone, so
   * that it takes the others with it no second time.
   */
  begin<T extends ReadableTask>(tasks: T[], read: (one: T) => Promise<void>): void {
    for (const one of [...tasks].sort((a, b) => a.task.lostReads - b.task.lostReads)) {
      const isSuspect = one.task.lostReads > 0;
      const isFree = isSuspect ? this.isEmpty : this.#open.size < PARALLEL;
      if (!isFree || [...this.#open.values()].some((each) => each.isSuspect)) return;
      const done = read(one)
        .catch((error: unknown) => void (this.#failure ??= { error }))
        .finally(() => this.#open.delete(one.index));
      this.#open.set(one.index, { done, isSuspect });
    }
  }

  /** Waits for so long, or until one has been read; not if none is read. @throws the signal's reason, or the first error of a read */
  async untilOneOr(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    if (!this.isEmpty) {
      const pause = sleep(ms, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined);
      await Promise.race([pause, ...[...this.#open.values()].map(({ done }) => done)]);
    }
    over.abort();
    signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure.error;
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ done }) => done));
  }
}
