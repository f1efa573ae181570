import { AsyncLocalStorage } from 'node:async_hooks';

/** The connection broke off before the answer came: the server may have done what it was asked. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError';
}

/** From the end of a stream to the answer in it having passed through the SDK's parser. */
const SETTLE_MS = 500;
/** What a server that offers to resume a stream gets to be back. */
const RESUME_MS = 60_000;
/** What a server gets to end the streams of a request that it has answered. */
const END_MS = 1000;
/** The reason that `notifications/cancelled` carries. */
const GIVEN_UP = 'The client no longer waits for the answer.';

const running = new AsyncLocalStorage<Exchange>();

/**
 * One request and the streams that may bring its answer. The SDK waits for ever when the stream of a request ends
 * without the answer, and leaves that stream open when the request is aborted; this sees to both.
 */
export class Exchange {
  readonly #streams = new AbortController();
  readonly #givenUp: Promise<never>;
  #giveUp!: (reason: unknown) => void;
  #settled = false;
  #resumable = false;
  #open = 0;
  #timer: NodeJS.Timeout | undefined;

  private constructor(readonly handshake: boolean) {
    this.#givenUp = new Promise<never>((_, reject) => {
      this.#giveUp = reject;
    });
  }

  /**
   * Runs `send` until it answers, `signal` aborts or the answer is lost; in both latter cases `inner` aborts, so that the
   * SDK tells the server. `handshake`: what `send` leaves running (the server's own stream) is none of this request's.
   */
  static async run<T>(
    signal: AbortSignal,
    send: (inner: AbortSignal, exchange: Exchange) => Promise<T>,
    { handshake = false } = {},
  ): Promise<T> {
    signal.throwIfAborted();
    const exchange = new Exchange(handshake);
    const inner = new AbortController();
    const onAbort = (): void => {
      exchange.#giveUp(signal.reason);
      inner.abort(GIVEN_UP);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    exchange.#givenUp.catch(() => inner.abort(GIVEN_UP));
    try {
      return await Promise.race([exchange.#givenUp, running.run(exchange, () => send(inner.signal, exchange))]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      exchange.#settle(inner.signal.aborted);
    }
  }

  /** The exchange on whose behalf the SDK fetches right now. */
  static current(): Exchange | undefined {
    const exchange = running.getStore();
    return exchange !== undefined && exchange.#settled && exchange.handshake ? undefined : exchange;
  }

  /** The server has given its stream ids: when it breaks off, the SDK asks for the rest. */
  mayResume(): void {
    this.#resumable = true;
  }

  /** Watches one fetch for the answer. */
  async watch(
    sdkSignal: AbortSignal | null | undefined,
    fetch: (signal: AbortSignal, onEnd: () => void) => Promise<Response>,
  ): Promise<Response> {
    // The SDK goes on resuming streams of a request that was given up; this answer makes it stop.
    if (this.#settled) return new Response(null, { status: 405 });
    const signal = AbortSignal.any([this.#streams.signal, ...(sdkSignal ? [sdkSignal] : [])]);
    clearTimeout(this.#timer);
    this.#open += 1;
    const end = (): void => {
      this.#open -= 1;
      if (this.#open > 0 || this.#settled) return;
      this.#timer = setTimeout(
        () => this.#giveUp(new AnswerLostError('the connection ended before the answer came')),
        this.#resumable ? RESUME_MS : SETTLE_MS,
      );
    };
    const once = onlyOnce(end);
    try {
      const response = await fetch(signal, once);
      if (response.status === 202) once();
      return response;
    } catch (error) {
      once();
      throw error;
    }
  }

  #settle(givenUp: boolean): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    // After an answer the server is about to end the stream by itself, and its connection can be used again.
    if (givenUp) this.#streams.abort();
    else setTimeout(() => this.#streams.abort(), END_MS).unref();
  }
}

function onlyOnce(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}
