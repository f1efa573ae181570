import { MAX_ANSWER_BYTES } from '../../../src/mcp/wire/answer-limits.js';
import { McpTimeoutError } from '../../../src/mcp/reasons.js';
import type { ByteBudget } from '../../../src/platform/byte-budget.js';
import type { ToolCall } from '../tool.js';

/** An answer is in memory three times: as bytes, as text and as parsed JSON. */
const SHARE_BYTES = 3 * MAX_ANSWER_BYTES;
/** Timeout for reading a large answer, so that a slow server does not hold its share of the budget for long. */
const READ_SECONDS = 60;
const PROGRESS_INTERVAL_MS = 1000;

/** A call's share of the worker's memory budget. The call takes it once its answer turns out to be large. */
export class LargeAnswer {
  readonly #slow = new AbortController();
  /** Aborts with the call, or when reading a large answer times out. */
  readonly signal: AbortSignal;
  #taken: Promise<() => void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly budget: ByteBudget,
    private readonly call: Pick<ToolCall, 'signal' | 'progress'>,
  ) {
    this.signal = AbortSignal.any([call.signal, this.#slow.signal]);
  }

  /** Waits for the share. The tool's time limit does not run meanwhile. */
  async take(): Promise<void> {
    if (this.#taken !== undefined) return;
    const waiting = setInterval(this.call.progress, PROGRESS_INTERVAL_MS);
    try {
      await (this.#taken = this.budget.take(SHARE_BYTES, this.signal));
    } finally {
      clearInterval(waiting);
    }
    this.#timer = setTimeout(() => this.#slow.abort(new McpTimeoutError(READ_SECONDS)), READ_SECONDS * 1000);
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#taken?.then(
      (giveBack) => giveBack(),
      () => undefined,
    );
  }
}
