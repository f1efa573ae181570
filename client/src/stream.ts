import { ApiError, ConnectionError, errorOf } from './errors.js';
import { SseParser, type SseItem } from './sse.js';
import type { Transport } from './transport.js';
import { isTerminal, type StreamEvent } from './types.js';
import { backOff, wait } from './wait.js';

export interface StreamOptions {
  /** Leaves the stream; the turn goes on. */
  signal?: AbortSignal;
  /** Goes on after the frame with this id (`lastEventId` of another stream), instead of at the start of the turn. */
  lastEventId?: string;
  /** How long to try to get a connection again before giving up. Default: 120,000. */
  reconnectForMs?: number;
}

/** The service pings every 10 s: after this long without a byte the connection is dead. */
const SILENCE_MS = 30_000;
/** With this `retry` and nothing else the service answers a reader who has the turn's last event already. */
const RETRY_OF_THE_END_MS = 15_000;

/**
 * The events of a session's current turn until its terminal event, over as many connections as that takes. The next
 * event is read when it is asked for: a slow reader slows the stream down and loses nothing.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  #lastEventId: string;
  #retryMs = 2_000;
  /** Attempts in vain since the last connection. */
  #failures = 0;
  /** When the last byte came, or was asked for. */
  #lastSign = 0;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly options: StreamOptions,
  ) {
    this.#lastEventId = options.lastEventId ?? '';
  }

  /** The id of the frame that was given out last; another stream can go on there. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** @throws ApiError (the session is gone, the key revoked), ConnectionError, the reason of the signal */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void> {
    const { signal, reconnectForMs = 120_000 } = this.options;
    this.#lastSign = Date.now();
    for (;;) {
      let pause = 0;
      try {
        for await (const item of this.#connection()) {
          if (item.kind === 'retry') {
            this.#retryMs = item.ms;
            continue;
          }
          const event = JSON.parse(item.data) as StreamEvent;
          this.#lastEventId = item.id;
          yield event;
          // While the reader was busy, nobody looked for bytes.
          this.#lastSign = Date.now();
          if (isTerminal(event)) return;
        }
        if (this.#retryMs >= RETRY_OF_THE_END_MS) return;
      } catch (error) {
        signal?.throwIfAborted();
        const canPass = error instanceof ConnectionError || (error instanceof ApiError && error.retryable);
        if (!canPass || Date.now() - this.#lastSign > reconnectForMs) throw error;
        if (error instanceof ApiError) pause = error.retryAfterMs ?? 0;
      }
      await wait(Math.max(pause, backOff(this.#failures++, this.#retryMs)), signal);
    }
  }

  /** One connection, to its end. */
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
      this.#failures = 0;
      const reader = response.body!.getReader();
      const parser = new SseParser();
      for (;;) {
        const { done, value } = await inTime(reader.read());
        if (done) return;
        this.#lastSign = Date.now();
        yield* parser.push(value);
      }
    } finally {
      leave.abort();
    }
  }
}

/** What comes before the silence is too long, a broken connection as a ConnectionError. */
async function inTime<Result>(coming: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout>;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError('the stream has gone silent')), SILENCE_MS);
  });
  try {
    return await Promise.race([coming, silence]);
  } catch (cause) {
    throw cause instanceof ConnectionError ? cause : new ConnectionError('the stream broke off', { cause });
  } finally {
    clearTimeout(timer!);
  }
}
