import { AsyncLocalStorage } from 'node:async_hooks';
import { ModelIdleTimeoutError } from './failures.js';
import type { SendRequest } from './send.js';

/** Aborts when no byte arrived for `seconds`. The time starts when we begin to send the request. */
export class Watchdog {
  #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly seconds: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    const abort = (): void => this.#controller.abort(new ModelIdleTimeoutError(this.seconds));
    this.#timer = this.#timer?.refresh() ?? setTimeout(abort, this.seconds * 1000);
  }

  /** Runs a call of the SDK; the requests it sends restart this watchdog. */
  watch<T>(call: () => T): T {
    return watchdogs.run(this, call);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The watchdog of the current call. An SDK client per call would not need this, but costs half a millisecond. */
const watchdogs = new AsyncLocalStorage<Watchdog>();

/** `fetch` for a client of the SDK: every byte of a streamed answer restarts the watchdog of its call. */
export function watchedFetch(send: SendRequest): typeof fetch {
  return (url, init) => {
    const watchdog = watchdogs.getStore();
    return send(url, init, () => watchdog?.restart());
  };
}
