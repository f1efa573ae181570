import { Connection, createEventBuffer, createSession } from 'better-sse';
import type Koa from 'koa';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { WIRE_FORMAT } from './portions.js';
import { MIB } from '../../src/platform/units.js';
import { ignored } from '../../src/platform/ignored.js';

/** Slightly less than 10 s: a tick per second can be early or late, and a ping must go out every 10 s. */
const PING_INTERVAL_MS = 9_500;
const STALL_TIMEOUT_MS = 10_000;
/** A client with fewer pending bytes is slow, not stalled. */
const MAX_PENDING_BYTES = MIB;
/** Large frames are written in pieces, so that each accepted piece counts as progress. */
const PIECE_BYTES = 16 * 1024;

const HEADERS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' };
const ping = Buffer.from(createEventBuffer(WIRE_FORMAT).comment('ping').dispatch().read());

// better-sse would read an event id and options from the URL, which are not part of our interface.
const EMPTY_URL = new URL('http://localhost/');
const HEAD = new Response(null, { headers: HEADERS });

/** A Server-Sent Events response. A better-sse session opens it; every write waits for the socket to drain. */
export class SseConnection extends Connection {
  readonly url = EMPTY_URL;
  readonly request: Request;
  readonly response = HEAD;
  #unsent = 0;
  /** Since when the socket has accepted no bytes; null while it keeps up. */
  #blockedSince: number | null = null;
  #pingedAt = Date.now();
  #isChecking = false;
  #draining: Promise<void> | null = null;

  private constructor(
    private readonly res: ServerResponse,
    private readonly signal: AbortSignal,
    private readonly countWaiting: () => Promise<number>,
  ) {
    super();
    // better-sse uses nothing else of it, and a whole Request takes 4 KB of each watcher's memory.
    this.request = { signal } as Request;
  }

  /**
   * Sends headers, `retry` and a first comment at once. `countWaiting` counts the characters still to be sent after the
   * current write.
   */
  static async open(
    ctx: Koa.Context,
    retryMs: number,
    signal: AbortSignal,
    countWaiting: () => Promise<number>,
  ): Promise<SseConnection> {
    ctx.respond = false;
    const connection = new SseConnection(ctx.res, signal, countWaiting);
    await createSession(connection, {
      retry: retryMs,
      keepAlive: null,
      trustClientEventId: false,
      ...WIRE_FORMAT,
    });
    await connection.send(ping);
    return connection;
  }

  /** Resolves when the socket has accepted the frames, or the stream has ended. */
  send(frames: Buffer): Promise<void> {
    return this.#write(frames);
  }

  /**
   * Writes the frames at once. Returns false, and writes nothing, if the socket still has to drain or the frames are larger than a
   * piece: `send` takes both into account.
   */
  sendNow(frames: Buffer): boolean {
    if (this.res.writableNeedDrain || this.res.destroyed || frames.length > PIECE_BYTES) return false;
    this.#unsent = frames.length;
    if (this.res.write(frames)) this.#unsent = 0;
    else void this.#drained();
    return true;
  }

  /** Runs every second: sends pings, and closes the stream of a stalled client (decisions.md "Turns and events", "Slow reader"). */
  tick(now: number): void {
    if (this.#blockedSince !== null) {
      if (now - this.#blockedSince >= STALL_TIMEOUT_MS) void this.#closeIfMuchWaits();
    } else if (now - this.#pingedAt >= PING_INTERVAL_MS && !this.res.writableEnded) {
      this.#pingedAt = now;
      void this.#write(ping);
    }
  }

  /** Ends the response after the bytes written so far. */
  end(): void {
    if (!this.res.writableEnded) this.res.end();
  }

  override sendHead = (): void => {
    this.res.writeHead(this.response.status, HEADERS);
  };

  override sendChunk = (chunk: string): void => {
    void this.#write(Buffer.from(chunk));
  };

  override cleanup = (): void => undefined;

  async #write(bytes: Buffer): Promise<void> {
    this.#unsent = bytes.length;
    if (this.res.writableNeedDrain) {
      await this.#drained();
      if (this.signal.aborted) return;
    }
    for (let start = 0; start < bytes.length && !this.res.destroyed; start += PIECE_BYTES) {
      this.#unsent = bytes.length - start;
      // A stream that must end completes its frame without waiting.
      const end = this.signal.aborted ? bytes.length : start + PIECE_BYTES;
      const isTaken = this.res.write(bytes.subarray(start, end));
      if (this.signal.aborted) break;
      if (!isTaken) await this.#drained();
    }
    this.#unsent = 0;
  }

  /** Resolves when the socket has drained, or the stream has ended. */
  #drained(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  async #drain(): Promise<void> {
    this.#blockedSince = Date.now();
    await once(this.res, 'drain', { signal: this.signal }).catch(ignored('the stream has ended'));
    this.#blockedSince = null;
    this.#draining = null;
  }

  async #closeIfMuchWaits(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const waiting = this.#unsent > MAX_PENDING_BYTES ? 0 : await this.countWaiting().catch(() => 0);
    this.#isChecking = false;
    if (this.#blockedSince !== null && this.#unsent + waiting > MAX_PENDING_BYTES) this.res.destroy();
  }
}
