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
    return watchdog === undefined ? send(url, init) : sendWatched(send, url, init, watchdog);
  };
}

async function sendWatched(
  send: SendRequest,
  url: string | URL | Request,
  init: RequestInit | undefined,
  watchdog: Watchdog,
): Promise<Response> {
  const response = await send(url, init, () => watchdog.restart());
  watchdog.restart();
  const { body } = response;
  // A TransformStream with a Response of its own would take half a millisecond of CPU for each call.
  if (body !== null) Object.defineProperty(response, 'body', { value: new WatchedBody(body, watchdog) });
  return response;
}

/** The part of a stream that the SDK uses. */
class WatchedBody implements AsyncIterable<Uint8Array> {
  constructor(
    private readonly body: AsyncIterable<Uint8Array>,
    private readonly watchdog: Watchdog,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.body) {
      this.watchdog.restart();
      yield chunk;
    }
  }
}
