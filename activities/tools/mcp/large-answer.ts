import { MAX_RESPONSE_BYTES } from '../../../src/mcp/limited-fetch.js';
import { McpTimeoutError } from '../../../src/mcp/reasons.js';
import type { ByteBudget } from '../../../src/platform/byte-budget.js';
import type { ToolCall } from '../tool.js';

/** An answer is held as bytes, as text and as what it says. */
const SHARE_BYTES = 3 * MAX_RESPONSE_BYTES;
/** A server that sends a large answer slowly must not keep its share from others. */
const READ_SECONDS = 60;
const PROGRESS_INTERVAL_MS = 1000;

/** The share of the worker's budget for bytes in flight that a call holds once its answer turns out to be large. */
export class LargeAnswer {
  readonly #slow = new AbortController();
  /** Aborts with the call, and when a large answer takes too long. */
  readonly signal: AbortSignal;
  #taken: Promise<() => void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly budget: ByteBudget,
    private readonly call: Pick<ToolCall, 'signal' | 'progress'>,
  ) {
    this.signal = AbortSignal.any([call.signal, this.#slow.signal]);
  }

  /** Waits for the share. The time of the call's tool does not run meanwhile. */
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
