import type { JsonObject } from '../../platform/json-object.js';
import { ignored } from '../../platform/ignored.js';
import type { OnLarge, AnswerLimits } from './answer-body.js';

/** The connection ended before the answer arrived. The server may have carried out the request. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError';
}

/** Time for a server to end the streams of an answered request. */
const END_TIMEOUT_MS = 1000;

export interface RequestOptions {
  /** What is left for the answer. */
  limits: AnswerLimits;
  /** The request opens the session. */
  handshake?: boolean;
  /** Runs before a large answer is read. */
  onLarge?: OnLarge | undefined;
  /** The result keeps the digits of its numbers (src/platform/exact-json). */
  exactNumbers?: boolean;
  /** The server may report progress. */
  onProgress?: (() => void) | undefined;
}

/** One request, its answer, and the streams that may carry the answer. */
export class McpRequest {
  /** Resolves with the result, unchecked. */
  readonly answer: Promise<JsonObject>;
  readonly #streams = new AbortController();
  #resolve!: (result: JsonObject) => void;
  #reject!: (error: unknown) => void;
  #isSettled = false;
  #isAbandoned = false;
  /** Its own stream has ended. The answer may still come on the server's stream. */
  waitsForServerStream = false;

  constructor(
    readonly id: number,
    readonly options: RequestOptions,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.answer.catch(ignored('who sent the request gets the error'));
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** True if the server may still work on the request, for an answer that nobody reads. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Aborts when no stream of the request is read any more. */
  get signal(): AbortSignal {
    return this.#streams.signal;
  }

  succeed(result: JsonObject): void {
    this.#settle(() => this.#resolve(result));
  }

  /** The server answered with an error, or cannot answer. */
  fail(error: unknown): void {
    this.#settle(() => this.#reject(error));
  }

  /** Stops waiting for the answer. */
  abandon(error: unknown): void {
    this.#settle(() => {
      this.#isAbandoned = true;
      this.#reject(error);
    });
    this.close();
  }

  lose(): void {
    this.abandon(new AnswerLostError('the connection ended before the answer came'));
  }

  close(): void {
    this.#streams.abort();
  }

  #settle(settle: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    settle();
    // After an answer the server ends the stream itself, so that the connection can be reused.
    setTimeout(() => this.close(), END_TIMEOUT_MS).unref();
  }
}
