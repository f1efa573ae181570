import { ApiError, ConnectionError, errorOf, unexpectedAnswer } from './errors.js';
import { randomId } from './random-id.js';
import { backOff, wait } from './wait.js';

export interface ClientOptions {
  /** Address of the service without `/v1`: `https://agents.example.com`. */
  baseUrl: string;
  /**
   * A key, or a session token on a page. A function is asked before the first request, and once again when the service refuses
   * what it gave: a page gets its next token that way. An error that it throws is thrown to the caller, without a retry.
   * `sessionId` is that of a copy of the session that a token has made, whose next token is asked for; absent otherwise.
   */
  apiKey: string | ((of: { sessionId?: string }) => string | Promise<string>);
  /**
   * How long to keep retrying a request that failed with a retryable error; 0: never. Default: 70,000, which is longer
   * than a window of the rate limit, a restart of the service, and the lease of an interrupted request on its key.
   */
  retryForMs?: number;
  /** Timeout of one attempt. Uploads, downloads and streams have no default timeout. Default: 120,000. */
  timeoutMs?: number;
  /** Called before each wait for another attempt, also of a stream that was cut off. */
  onRetry?: (retry: Retry) => void;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Parses responses and events. Default: `JSON.parse`, which changes integers beyond 2^53 in the input of a tool. */
  parseJson?: (text: string) => unknown;
}

/** A failed attempt that is made again. */
export interface Retry {
  method: string;
  path: string;
  error: ApiError | ConnectionError;
  /** Failed attempts so far, this one included. */
  attempt: number;
  /** The pause until the next attempt. */
  delayMs: number;
}

export interface RequestOptions {
  /** Aborts the request, its retries and its waits. */
  signal?: AbortSignal;
  /**
   * The person for whom your back end sends the request with its key, for the audit log and `sent_by` of turns: 1 to 128 printable
   * ASCII characters. A session token has its own.
   */
  actingFor?: string;
}

export interface CreateOptions extends RequestOptions {
  /**
   * Makes retries safe, also from another process: within 24 h the same key and content get the first response. If
   * absent, the client generates a key for its own retries.
   */
  idempotencyKey?: string;
}

/** @internal A request as an operation describes it. */
export interface Outgoing extends CreateOptions {
  query?: object;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged; called for each attempt. */
  body?: () => { content: Blob | ReadableStream<Uint8Array>; contentType: string };
  /** True if the body can be sent again. */
  repeatable?: boolean;
  headers?: Record<string, string>;
  timeoutMs?: number;
}

/** @internal Sends requests, with retries if these are safe and can help. */
export class Transport {
  readonly #options: Required<ClientOptions>;
  /** What `apiKey` gave last, for all requests; null before the first one. */
  #key: Promise<string> | null = null;
  /** The copy of a session whose tokens it uses; null: what `apiKey` gives without one. */
  #copy: string | null = null;

  constructor(options: ClientOptions) {
    this.#options = {
      ...options,
      retryForMs: options.retryForMs ?? 70_000,
      timeoutMs: options.timeoutMs ?? 120_000,
      onRetry: options.onRetry ?? (() => undefined),
      // In browsers, fetch must be called without a receiver.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      parseJson: options.parseJson ?? ((text) => JSON.parse(text) as unknown),
      baseUrl: options.baseUrl.replace(/\/+$/, ''),
    };
  }

  /** A transport with the tokens of a copy of the session, which a token has made. The first one is given. */
  forCopy(sessionId: string, token: string): Transport {
    const copy = new Transport(this.#options);
    copy.#copy = sessionId;
    copy.#key = Promise.resolve(token);
    return copy;
  }

  /** Returns the JSON response of an operation. @throws ApiError, ConnectionError, the reason of the signal */
  json<Answer>(method: string, path: string, outgoing?: Outgoing): Promise<Answer> {
    return this.send(method, path, outgoing, async (response) => {
      const answer = this.#objectIn(await response.text());
      if (answer !== null) return answer as Answer;
      // The rest of a JSON answer was cut off.
      if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) throw brokenOff(method, path, undefined);
      throw unexpectedAnswer(response, 'JSON');
    });
  }

  parse<Value>(text: string): Value {
    return this.#options.parseJson(text) as Value;
  }

  /** Null if the text is none of the service's answers, which are objects. */
  #objectIn(text: string): object | null {
    try {
      const value: unknown = this.parse(text);
      return typeof value === 'object' ? value : null;
    } catch {
      return null;
    }
  }

  /** Sends a POST with an idempotency key, so that retries have the effect only once. @throws as `json` */
  create<Answer>(path: string, outgoing: Outgoing): Promise<Answer> {
    return this.json('POST', path, { ...outgoing, idempotencyKey: outgoing.idempotencyKey ?? randomId() });
  }

  /** @throws as `json` */
  noContent(method: string, path: string, outgoing: Outgoing): Promise<void> {
    return this.send(method, path, outgoing, (response) => {
      if (response.ok && response.status !== 204) throw unexpectedAnswer(response, 'an answer without content (204)');
    });
  }

  /** Returns the result of `read` for a successful response. @throws as `json` */
  async send<Answer>(
    method: string,
    path: string,
    outgoing: Outgoing = {},
    read: (response: Response) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const { signal, repeatable = true } = outgoing;
    const until = Date.now() + this.#options.retryForMs;
    let mayHaveWorked = false;
    for (let failures = 0; ; failures += 1) {
      let error: ApiError | ConnectionError;
      try {
        const response = await this.attempt(method, path, outgoing);
        // A retried deletion may get a 404, because an attempt without a response has deleted the resource.
        if (response.ok || (method === 'DELETE' && response.status === 404 && mayHaveWorked)) {
          return await read(response);
        }
        error = await errorOf(response);
      } catch (cause) {
        signal?.throwIfAborted();
        if (cause instanceof KeyError) throw cause.cause;
        error = cause instanceof ConnectionError || cause instanceof ApiError ? cause : brokenOff(method, path, cause);
      }
      mayHaveWorked ||= error instanceof ConnectionError || error.type === 'unknown';
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      const pause = Math.max(backOff(failures), asked);
      const canHelp = error instanceof ConnectionError || error.retryable;
      if (!canHelp || !repeatable || Date.now() + pause > until) throw error;
      await this.pause({ method, path, error, attempt: failures + 1, delayMs: pause }, signal);
    }
  }

  /** Reports a failed attempt and waits for the next one. @throws the reason of the signal */
  async pause(retry: Retry, signal?: AbortSignal): Promise<void> {
    this.#options.onRetry(retry);
    await wait(retry.delayMs, signal);
  }

  /**
   * Runs one attempt and returns any response. When the key is refused, it asks for another one and sends the request again, once.
   * @throws ConnectionError, KeyError, the reason of the signal
   */
  async attempt(method: string, path: string, outgoing: Outgoing): Promise<Response> {
    const asked = this.#nextKey();
    const response = await this.#send(method, path, outgoing, await asked);
    const isRefused = response.status === 401 && typeof this.#options.apiKey === 'function';
    if (!isRefused || outgoing.repeatable === false) return response;
    // Requests that are refused together share the next key.
    if (this.#key === asked) this.#key = null;
    await response.body?.cancel();
    return this.#send(method, path, outgoing, await this.#nextKey());
  }

  /** The key that is known, or else a new one. One that could not be had is asked for again by the next request. */
  #nextKey(): Promise<string> {
    const asked = (this.#key ??= this.#askForKey());
    asked.catch(() => {
      if (this.#key === asked) this.#key = null;
    });
    return asked;
  }

  /** @throws KeyError */
  async #askForKey(): Promise<string> {
    const { apiKey } = this.#options;
    try {
      if (typeof apiKey === 'string') return keyIn(apiKey);
      return keyIn(await apiKey(this.#copy === null ? {} : { sessionId: this.#copy }));
    } catch (cause) {
      throw new KeyError('the function `apiKey` failed', { cause });
    }
  }

  async #send(method: string, path: string, outgoing: Outgoing, apiKey: string): Promise<Response> {
    const { baseUrl, fetch } = this.#options;
    const { json, query, idempotencyKey, actingFor, headers, signal, timeoutMs = this.#options.timeoutMs } = outgoing;
    const body = outgoing.body?.();
    const signals = [...(signal ? [signal] : []), ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [])];
    try {
      return await fetch(`${baseUrl}${path}${queryString(query)}`, {
        method,
        headers: {
          Authorization: `Bearer ${apiKey}`,
          ...(json !== undefined && { 'Content-Type': 'application/json' }),
          ...(body && { 'Content-Type': body.contentType }),
          ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
          ...(actingFor !== undefined && { 'X-Actor': actingFor }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        ...(body && { body: body.content }),
        // Required for a body that is a stream.
        ...(body && { duplex: 'half' }),
        ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw brokenOff(method, path, error);
    }
  }
}

/** @internal The function `apiKey` threw its `cause`. */
export class KeyError extends Error {}

/**
 * A key, without the line end that a file or a secret often has after it.
 * @throws TypeError for what no header can carry: a request with it would fail as if the service were away, again and again.
 */
function keyIn(text: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('`apiKey` is no key: it is empty, or has blanks or other characters that keys do not have');
  return key;
}

/** @internal `.` and `..` would change the path, and are not ids. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new TypeError(`"${id}" is not an id`);
  return encodeURIComponent(id);
}

function brokenOff(method: string, path: string, cause: unknown): ConnectionError {
  const why = reasonOf(cause);
  const message = `${method} ${path}: the service gave no answer, or the connection broke`;
  return new ConnectionError(why === '' ? message : `${message} (${why})`, { cause });
}

/** What a person needs to see, such as `connect ECONNREFUSED 127.0.0.1:8080`: `fetch` says only "fetch failed" and has it as its cause. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  return cause.cause instanceof Error ? reasonOf(cause.cause) || cause.message : cause.message;
}

type QueryValue = string | number | boolean | string[] | Record<string, string> | undefined;

function queryString(query: object = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, QueryValue][]) {
    if (Array.isArray(value)) search.set(name, value.join(','));
    else if (typeof value === 'object') {
      for (const [key, part] of Object.entries(value)) search.set(`${name}[${key}]`, part);
    } else if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? '' : `?${search.toString()}`;
}
