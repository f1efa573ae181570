import { AsyncLocalStorage } from 'node:async_hooks';
import { ModelIdleTimeoutError } from './failures.js';
import type { SendRequest } from './send.js';

/** Aborts a call whose model is silent. */
export class Watchdog {
  #controller = new AbortController();
  #bytes: NodeJS.Timeout | undefined;
  #content: { timer: NodeJS.Timeout; ms: number } | undefined;
  #isStopped = false;

  constructor(private readonly seconds: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts when no byte arrives for `seconds`. The time starts when we begin to send the request. */
  restart(): void {
    if (this.#isStopped) return;
    const abort = (): void => this.abort(new ModelIdleTimeoutError(this.seconds));
    this.#bytes = this.#bytes?.refresh() ?? setTimeout(abort, this.seconds * 1000);
  }

  /** Aborts when this is not called again within `ms`: signs of life are no content. */
  awaitContent(ms: number): void {
    if (this.#content?.ms === ms) {
      this.#content.timer.refresh();
      return;
    }
    clearTimeout(this.#content?.timer);
    const abort = (): void => this.abort(new ModelIdleTimeoutError(ms / 1000, 'nothing but pings'));
    this.#content = { timer: setTimeout(abort, ms), ms };
  }

  /** Runs a call of the SDK; the requests it sends restart this watchdog. */
  watch<T>(call: () => T): T {
    return watchdogs.run(this, call);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#bytes);
    clearTimeout(this.#content?.timer);
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
