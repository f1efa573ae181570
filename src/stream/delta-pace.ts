import { performance, type EventLoopUtilization, type Performance } from 'node:perf_hooks';

/**
 * Limits of the time between two sendings. The shortest is about a frame of a screen: nobody sees text that comes more often. A
 * model that writes more slowly does not wait at all.
 */
const MIN_WINDOW_MS = 16;
const MAX_WINDOW_MS = 50;
/** Up to the first share of busy time the window is at its lower limit, from the second one on at its upper limit. */
const IDLE_SHARE = 0.1;
const BUSY_SHARE = 0.6;
/** Time over which the busy share is measured. */
const MEASURED_MS = 100;

/**
 * The time between two sendings of deltas, which follows the load of the process: fragments that come within it leave together.
 * The share of time for which the event loop is busy counts, also time for which another process has the CPU.
 */
export class DeltaPace {
  #windowMs = MIN_WINDOW_MS;
  #last: EventLoopUtilization;
  #measuredAt: number;

  constructor(private readonly loop: Pick<Performance, 'eventLoopUtilization' | 'now'> = performance) {
    this.#last = loop.eventLoopUtilization();
    this.#measuredAt = loop.now();
  }

  get windowMs(): number {
    const now = this.loop.now();
    if (now - this.#measuredAt < MEASURED_MS) return this.#windowMs;
    const measured = this.loop.eventLoopUtilization();
    const { utilization } = this.loop.eventLoopUtilization(measured, this.#last);
    this.#last = measured;
    this.#measuredAt = now;
    // The mean with the value before: one long task is not a load.
    this.#windowMs = (this.#windowMs + windowOf(utilization)) / 2;
    return this.#windowMs;
  }
}

/** @param busyShare 0 to 1 */
export function windowOf(busyShare: number): number {
  const share = (busyShare - IDLE_SHARE) / (BUSY_SHARE - IDLE_SHARE);
  return MIN_WINDOW_MS + (MAX_WINDOW_MS - MIN_WINDOW_MS) * Math.min(1, Math.max(0, share));
}
