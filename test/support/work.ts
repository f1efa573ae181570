import { Session } from 'node:inspector';

interface Coverage {
  result: { functions: { ranges: { count: number }[] }[] }[];
}

/**
 * Counts the blocks of JavaScript that run in this process, libraries included: the same work gives the same count,
 * however busy the machine is. Work inside of V8 itself (a regular expression, `indexOf`) is not in it.
 */
export class WorkCounter {
  readonly #session = new Session();

  start(): void {
    this.#session.connect();
    this.#ask('Profiler.enable');
    this.#ask('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The blocks since the last call. */
  take(): number {
    const { result } = this.#ask('Profiler.takePreciseCoverage') as Coverage;
    let blocks = 0;
    for (const { functions } of result) {
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    }
    return blocks;
  }

  stop(): void {
    this.#ask('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  /** The session is one of the same thread, so that its answers come before `post` returns. */
  #ask(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw new Error(error.message);
      answer = result;
    });
    return answer;
  }
}
