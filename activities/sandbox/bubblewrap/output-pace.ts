import { MIB } from '../../../src/platform/units.js';

/** What a command writes at once, as fast as it can. */
const BURST_BYTES = 100 * MIB;
/** Beyond it. Nearly all of it is left out of the result, and reading it takes time of the worker from others. */
const BYTES_PER_SECOND = 8 * MIB;

/** The pace at which the output of a command is read. Further output waits in its pipe, and the command with it. */
export class OutputPace {
  #bytes = 0;

  /** Returns for how many ms to wait before more is read. */
  pauseAfter(bytes: number): number {
    const before = this.#bytes;
    this.#bytes += bytes;
    const beyond = this.#bytes - Math.max(before, BURST_BYTES);
    return beyond <= 0 ? 0 : Math.ceil((beyond / BYTES_PER_SECOND) * 1000);
  }
}
