import { AsyncLocalStorage } from 'node:async_hooks';
import type { OnLarge } from './wire/answer-body.js';
import type { AnswerLimits } from './wire/answer-limits.js';

/** The connection ended before the answer arrived. The server may have carried out the request. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError';
}

/** Time for the SDK to parse an answer at the end of a stream. */
const PARSE_TIMEOUT_MS = 500;
/** Time for a server to resume a resumable stream. */
const RESUME_TIMEOUT_MS = 60_000;
/** Time for a server to end the streams of an answered request. */
const END_TIMEOUT_MS = 1000;
/** The reason in `notifications/cancelled`. */
const ABANDONED = 'The client no longer waits for the answer.';

export interface RequestOptions {
  /** What is left for the answer. */
  limits: AnswerLimits;
  /** The server's own stream, which `send` leaves open, does not belong to the request. */
  handshake?: boolean;
  /** Runs before a large answer is read. */
  onLarge?: OnLarge | undefined;
  /** The result keeps the digits of its numbers (src/platform/exact-json). */
  exactNumbers?: boolean;
}

/** Runs at the end of a stream. `isBroken`: its connection broke. */
export type OnStreamEnd = (isBroken: boolean) => void;

const running = new AsyncLocalStorage<McpRequest>();

/**
 * One request and the streams that may carry its answer. The SDK waits forever if the stream of a request ends without
 * the answer, and it keeps the stream open if the request is aborted. This class handles both.
 */
export class McpRequest {
  readonly #streams = new AbortController();
  readonly #abandoned: Promise<never>;
  #abandon!: (reason: unknown) => void;
  #settled = false;
  #resumable = false;
  #open = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The id of the request's message, as the SDK numbered it. */
  id: number | undefined;
  /** The result of the answer, unchecked. The SDK gets an empty one. */
  answer: Record<string, unknown> = {};
  /** The HTTP status of the answer, if it is a JSON-RPC error. */
  errorStatus: number | undefined;
  readonly limits: AnswerLimits;
  readonly handshake: boolean;
  readonly onLarge: OnLarge | undefined;
  readonly exactNumbers: boolean;
  /** Runs when the request has ended. */
  onSettled: () => void = () => undefined;

  private constructor({ limits, handshake = false, onLarge, exactNumbers = false }: RequestOptions) {
    this.limits = limits;
    this.handshake = handshake;
    this.onLarge = onLarge;
    this.exactNumbers = exactNumbers;
    this.#abandoned = new Promise<never>((_, reject) => {
      this.#abandon = reject;
    });
  }

  /**
   * Runs `send` until it answers, `signal` aborts or the answer is lost. In the last two cases `inner` aborts, so that
   * the SDK sends `notifications/cancelled`.
   */
  static async run<T>(
    signal: AbortSignal,
    send: (inner: AbortSignal, request: McpRequest) => Promise<T>,
    options: RequestOptions,
  ): Promise<T> {
    signal.throwIfAborted();
    const request = new McpRequest(options);
    const inner = new AbortController();
    const onAbort = (): void => {
      request.#abandon(signal.reason);
      inner.abort(ABANDONED);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    request.#abandoned.catch(() => inner.abort(ABANDONED));
    try {
      return await Promise.race([request.#abandoned, running.run(request, () => send(inner.signal, request))]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      request.#settle(inner.signal.aborted);
    }
  }

  static current(): McpRequest | undefined {
    const request = running.getStore();
    return request !== undefined && request.#settled && request.handshake ? undefined : request;
  }

  /** The server sends event ids: the SDK can resume an interrupted stream. */
  mayResume(): void {
    this.#resumable = true;
  }

  /** Ends the request: its answer was refused while it arrived. */
  fail(error: Error): void {
    this.#abandon(error);
  }

  /**
   * Tracks one fetch, which may carry the answer. `otherStream` resolves at the end of the server's own stream, if that is
   * open: a server may send the answer there after it has ended the stream of the request as it should.
   */
  async watch(
    sdkSignal: AbortSignal | null | undefined,
    fetch: (signal: AbortSignal, onEnd: OnStreamEnd) => Promise<Response>,
    otherStream: () => Promise<void> | null = () => null,
  ): Promise<Response> {
    // The SDK continues to resume streams of an abandoned request; this response stops it.
    if (this.#settled) return new Response(null, { status: 405 });
    const signal = AbortSignal.any([this.#streams.signal, ...(sdkSignal ? [sdkSignal] : [])]);
    clearTimeout(this.#timer);
    this.#open += 1;
    let isEnded = false;
    const end = (isBroken: boolean): void => {
      if (isEnded) return;
      isEnded = true;
      const other = isBroken || this.#resumable ? null : otherStream();
      if (other === null) this.#endStream();
      else void other.then(() => this.#endStream());
    };
    try {
      const response = await fetch(signal, end);
      if (response.status === 202) end(false);
      return response;
    } catch (error) {
      end(true);
      throw error;
    }
  }

  #endStream(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#settled) return;
    this.#timer = setTimeout(
      () => this.#abandon(new AnswerLostError('the connection ended before the answer came')),
      this.#resumable ? RESUME_TIMEOUT_MS : PARSE_TIMEOUT_MS,
    );
  }

  #settle(abandoned: boolean): void {
    this.#settled = true;
    this.onSettled();
    clearTimeout(this.#timer);
    // After an answer the server ends the stream itself, so that the connection can be reused.
    if (abandoned) this.#streams.abort();
    else setTimeout(() => this.#streams.abort(), END_TIMEOUT_MS).unref();
  }
}
