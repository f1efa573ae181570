/** Calls of one step that run in parallel. A step with hundreds of calls must leave slots for other turns. */
const PARALLEL_CALLS = 16;

/** Begins the tool calls of a turn: those that must not run beside each other one after another, the others in parallel. */
export class CallRunner {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the parallel calls have ended. Returns those that run one after another, which may still run. */
  async begin(
    indices: number[],
    isSerial: (index: number) => boolean,
    call: (index: number) => Promise<void>,
  ): Promise<Promise<void>[]> {
    const inSeries = indices.filter(isSerial).map((index) => this.#beginNext(() => call(index)));
    const parallel = indices.filter((index) => !isSerial(index));
    for (let start = 0; start < parallel.length; start += PARALLEL_CALLS) {
      await Promise.all(parallel.slice(start, start + PARALLEL_CALLS).map(call));
    }
    return inSeries;
  }

  #beginNext(call: () => Promise<void>): Promise<void> {
    const done = this.#last.then(call);
    this.#last = done;
    done.catch(() => undefined); // Who asked for the call has the error. The calls after it do not begin.
    return done;
  }
}
