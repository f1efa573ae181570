import { ApiError, ConnectionError, errorOf, unexpectedAnswer } from './errors.js';
import { SseParser, type SseItem } from './sse.js';
import { KeyError, type Transport } from './transport.js';
import { isTerminal, type StreamEvent } from './types.js';
import { backOff, wait } from './wait.js';

export interface StreamOptions {
  /** Closes the stream; the turn continues. */
  signal?: AbortSignal;
  /** Resumes after the frame with this id (`lastEventId` of another stream), instead of at the start of the turn. */
  lastEventId?: string;
  /** How long to try to reconnect before giving up. Default: 120,000; for `follow`, until the signal. */
  reconnectForMs?: number;
}

export interface SessionStreamOptions extends StreamOptions {
  /** Begins after this stored event, such as the last one of the history. `lastEventId` has priority. */
  after?: string | undefined;
}

/** Idle timeout: the service pings every 10 s, so after this time without a byte the connection is dead. */
const IDLE_TIMEOUT_MS = 30_000;
/** If the client already has the turn's last event, the service sends only this `retry`. */
const RETRY_OF_THE_END_MS = 15_000;

/**
 * The events of a session's current turn up to its terminal event, or those of all turns from there on, over one or more
 * connections. The next event is read on demand: a slow reader slows down the stream and loses nothing.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  #lastEventId: string;
  #retryMs = 2_000;
  /** Failed attempts since the last frame or ping. */
  #failures = 0;
  #wasConnected = false;
  /** Time of the last frame or ping, or of the last request for one. A proxy that only answers gives no sign of the service. */
  #lastSign = 0;
  /** The service has nothing more to send (204): the reader must not come again. */
  #isOver = false;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly options: StreamOptions,
    /** Goes on with every turn of the session. */
    private readonly isOfSession = false,
  ) {
    this.#lastEventId = options.lastEventId ?? '';
  }

  /** The id of the last yielded frame, to resume in another stream. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** @throws ApiError (for example an unknown session or a revoked key), ConnectionError, the reason of the signal */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void> {
    const { signal, reconnectForMs = this.isOfSession ? Infinity : 120_000 } = this.options;
    this.#lastSign = Date.now();
    this.#wasConnected = false;
    this.#isOver = false;
    for (;;) {
      let failure: ApiError | ConnectionError | null = null;
      try {
        let hadSign = false;
        for await (const item of this.#connection()) {
          if (item.kind === 'retry') {
            this.#retryMs = item.ms;
            continue;
          }
          hadSign = true;
          this.#failures = 0;
          this.#lastSign = Date.now();
          if (item.kind === 'ping') continue;
          const event = this.transport.parse<StreamEvent>(item.data);
          this.#lastEventId = item.id;
          yield event;
          // While the reader was busy, no bytes were read.
          this.#lastSign = Date.now();
          if (isTerminal(event) && !this.isOfSession) return;
        }
        if (this.#isOver || this.#retryMs >= RETRY_OF_THE_END_MS) return;
        if (!hadSign) throw new ConnectionError(`GET ${this.path}: the stream ended before its first event or ping`);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof KeyError) throw error.cause;
        // A stream of the session ends when the session is deleted.
        if (this.isOfSession && this.#wasConnected && isGone(error)) return;
        if (!canPass(error) || Date.now() - this.#lastSign > reconnectForMs) throw error;
        failure = error;
      }
      const asked = failure instanceof ApiError ? (failure.retryAfterMs ?? 0) : 0;
      const delayMs = Math.max(asked, backOff(this.#failures++, this.#retryMs));
      if (failure === null) await wait(delayMs, signal);
      else {
        const { path } = this;
        await this.transport.pause({ method: 'GET', path, error: failure, attempt: this.#failures, delayMs }, signal);
      }
    }
  }

  /** Reads one connection to its end. */
  async *#connection(): AsyncGenerator<SseItem, void> {
    const leave = new AbortController();
    const { signal } = this.options;
    try {
      const response = await inTime(
        this.transport.attempt('GET', this.path, {
          headers: {
            Accept: 'text/event-stream',
            ...(this.#lastEventId !== '' && { 'Last-Event-ID': this.#lastEventId }),
          },
          signal: signal ? AbortSignal.any([signal, leave.signal]) : leave.signal,
          timeoutMs: 0,
        }),
      );
      if (!response.ok) throw await errorOf(response);
      if (response.status === 204) return void (this.#isOver = true);
      if (!isEventStream(response)) throw unexpectedAnswer(response, 'an event stream');
      this.#wasConnected = true;
      const reader = response.body!.getReader();
      const parser = new SseParser();
      for (;;) {
        const { done, value } = await inTime(reader.read());
        if (done) return;
        yield* parser.push(value);
      }
    } finally {
      leave.abort();
    }
  }
}

function isEventStream({ headers }: Response): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(headers.get('content-type') ?? '');
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.is('session_not_found');
}

function canPass(error: unknown): error is ApiError | ConnectionError {
  return error instanceof ConnectionError || (error instanceof ApiError && error.retryable);
}

/** Throws a ConnectionError after the idle timeout or if the connection breaks. */
async function inTime<Result>(coming: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout>;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError('the stream sent no data for too long')), IDLE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([coming, silence]);
  } catch (cause) {
    if (cause instanceof ConnectionError || cause instanceof KeyError) throw cause;
    throw new ConnectionError('the stream broke off', { cause });
  } finally {
    clearTimeout(timer!);
  }
}
