import { ApplicationFailure } from '@temporalio/common';
import type { ActivityDeps } from '../deps.js';

const TICK_MS = 500;

/**
 * The time that is left of a turn, while one of its calls runs: the activity's own timeout would count the time in which the
 * call waits for an answer.
 */
export class TurnClock {
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #last = performance.now();
  #holds = 0;

  constructor(private remainingMs: number) {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Aborts with the failure that ends the turn. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Stops the clock until the returned function runs. */
  hold(): () => void {
    this.#tick();
    this.#holds += 1;
    return () => {
      this.#tick();
      this.#holds -= 1;
    };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    if (this.#holds === 0) this.remainingMs -= now - this.#last;
    this.#last = now;
    if (this.remainingMs > 0) return;
    this.#over.abort(ApplicationFailure.nonRetryable('The time of the turn is over.', 'turn_timeout'));
  }
}

/** What is left of the time of a turn that has run for `runningMs`. */
export function remainingMs({ config }: ActivityDeps, runningMs: number): number {
  return Math.max(0, Math.round(config.turnTimeoutSeconds * 1000 - runningMs));
}
