/** Calls that must not run beside each other: each begins when those before it have ended. */
export class CallsInSeries {
  #last: Promise<void> = Promise.resolve();

  run(call: () => Promise<void>): Promise<void> {
    const done = this.#last.then(call);
    this.#last = done;
    done.catch(() => undefined); // Who asked for the call has the error. The calls after it do not begin.
    return done;
  }
}
