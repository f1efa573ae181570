import { BYTES_PER_JSON_VALUE } from '../platform/value-count.js';
import type { ByteBudget } from '../platform/byte-budget.js';

/** Memory for a byte of an answer: as bytes, as text and as parsed JSON. Measured: 3, with one wide character 5. */
const MEMORY_FACTOR = 5;
const PROGRESS_INTERVAL_MS = 1000;

interface LargeAnswerOptions {
  budget: ByteBudget;
  projectId: string;
  signal: AbortSignal;
  /** The most JSON values that the answer may have. */
  maxValues: number;
  /** Runs every second while the answer waits. */
  onWait?: () => void;
}

/** A request's share of the process' memory budget. It takes the share once its answer turns out to be large. */
export class LargeAnswer {
  #taken: Promise<() => void> | undefined;

  constructor(private readonly options: LargeAnswerOptions) {}

  /** Waits for the share of an answer of up to `bytes`. */
  async take(bytes: number): Promise<void> {
    if (this.#taken !== undefined) return;
    const { budget, projectId, signal, maxValues, onWait = () => undefined } = this.options;
    const memory = MEMORY_FACTOR * bytes + BYTES_PER_JSON_VALUE * Math.min(maxValues, bytes);
    const waiting = setInterval(onWait, PROGRESS_INTERVAL_MS);
    try {
      await (this.#taken = budget.take(memory, signal, projectId));
    } finally {
      clearInterval(waiting);
    }
  }

  release(): void {
    this.#taken?.then(
      (giveBack) => giveBack(),
      () => undefined,
    );
  }
}
