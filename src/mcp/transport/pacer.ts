import { setImmediate, setTimeout } from 'node:timers/promises';

/** Messages that a server may send unasked while an API process uses it for one request of a client. */
const BURST_OF_REQUEST = 200;
const PER_SECOND_OF_REQUEST = 20;

/**
 * Limits the work that messages cause which a server sends unasked. The SDK needs 0.2 ms for a ping of 60 bytes, so an
 * unlimited stream of pings would occupy the process.
 */
export class Pacer {
  #tokens: number;
  #last = performance.now();

  /** `burst` messages at once, then `perSecond`. */
  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
  ) {
    this.#tokens = burst;
  }

  /** Charges for a message that was passed on. Waits until the next one may follow; other work runs in any case. */
  async charge(cost: number): Promise<void> {
    const now = performance.now();
    this.#tokens = Math.min(this.burst, this.#tokens + ((now - this.#last) / 1000) * this.perSecond) - cost;
    this.#last = now;
    if (this.#tokens >= 0) await setImmediate();
    else await setTimeout((-this.#tokens / this.perSecond) * 1000, undefined, { ref: false });
  }
}

export function pacerOfRequest(): Pacer {
  return new Pacer(BURST_OF_REQUEST, PER_SECOND_OF_REQUEST);
}
