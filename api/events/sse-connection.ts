import type Koa from 'koa';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** A tick a second comes a little early or late: a ping goes out every 10 s. */
const PING_INTERVAL_MS = 9_500;
const STALL_TIMEOUT_MS = 10_000;
/** A reader with less than this waiting is slow, not stalled. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** Large frames go out in pieces: each one that the socket takes is progress. */
const PIECE_BYTES = 16 * 1024;

const PING = ': ping\n\n';

/** A response of Server-Sent Events. Every write waits for the socket to drain. */
export class SseConnection {
  #unsent = 0;
  /** Since when the socket has taken nothing of what it was given; null while it takes everything. */
  #blockedSince: number | null = null;
  #pingedAt = Date.now();
  #isChecking = false;

  /**
   * Sends headers, `retry` and a first comment at once. `countWaiting` counts the characters that are still to be sent
   * after the current write.
   */
  constructor(
    ctx: Koa.Context,
    retryMs: number,
    private readonly signal: AbortSignal,
    private readonly countWaiting: () => Promise<number>,
    private readonly res: ServerResponse = ctx.res,
  ) {
    ctx.respond = false;
    res.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
    });
    res.write(`retry: ${retryMs}\n\n${PING}`);
  }

  /** Resolves when the socket has taken the bytes, or the stream is over. */
  async send(bytes: Buffer): Promise<void> {
    for (let start = 0; start < bytes.length && !this.res.destroyed; start += PIECE_BYTES) {
      this.#unsent = bytes.length - start;
      // A stream that has to end completes its frame without waiting.
      const end = this.signal.aborted ? bytes.length : start + PIECE_BYTES;
      const isTaken = this.res.write(bytes.subarray(start, end));
      if (this.signal.aborted) break;
      if (isTaken) continue;
      this.#blockedSince = Date.now();
      await once(this.res, 'drain', { signal: this.signal }).catch(() => undefined);
      this.#blockedSince = null;
    }
    this.#unsent = 0;
  }

  /** Runs every second: pings, and closes a stalled reader (contract.md §3 "Slow reader"). */
  tick(now: number): void {
    if (this.#blockedSince !== null) {
      if (now - this.#blockedSince >= STALL_TIMEOUT_MS) void this.#closeIfMuchWaits();
    } else if (now - this.#pingedAt >= PING_INTERVAL_MS && !this.res.writableEnded) {
      this.#pingedAt = now;
      this.res.write(PING);
    }
  }

  /** Ends the response after what was sent. */
  end(): void {
    if (!this.res.writableEnded) this.res.end();
  }

  async #closeIfMuchWaits(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const waiting = this.#unsent > MAX_PENDING_BYTES ? 0 : await this.countWaiting().catch(() => 0);
    this.#isChecking = false;
    if (this.#blockedSince !== null && this.#unsent + waiting > MAX_PENDING_BYTES) this.res.destroy();
  }
}
