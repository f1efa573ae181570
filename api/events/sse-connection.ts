import { createEventBuffer, createSession, type EventBuffer } from 'better-sse';
import type Koa from 'koa';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../src/platform/errors.js';
import type { Frame } from '../../src/events/store.js';
import { formatEventId } from '../../src/events/position.js';

const PING_MS = 10_000;
const STALL_MS = 10_000;
const MAX_PENDING = 1024 * 1024;

/** better-sse writes `name:value`; the specification shows `name: value`. */
const WIRE = { serializer: (json: unknown) => json as string, sanitizer: (value: string) => ` ${value}` };

/** Each frame is put into its wire form once, for all of its watchers. */
const encoded = new WeakMap<Frame, EventBuffer>();
const ping = createEventBuffer(WIRE).comment('ping').dispatch();

/** An SSE response: better-sse carries the frames, every write waits for the socket to drain. */
export class SseConnection {
  #ping: NodeJS.Timeout;

  private constructor(
    private readonly session: Awaited<ReturnType<typeof createSession>>,
    private readonly res: ServerResponse,
    private readonly pending: () => Promise<number>,
  ) {
    this.#ping = setInterval(() => {
      if (session.isConnected && !res.writableNeedDrain) void session.batch(ping);
    }, PING_MS);
    res.setTimeout(STALL_MS, () => void this.#closeWhenStalled());
  }

  /**
   * Sends headers, `retry` and a first comment at once. `pending` counts the characters that wait for this reader
   * besides what its socket holds: with more than 1 MiB and a socket that took nothing for 10 s it is closed.
   */
  static async open(ctx: Koa.Context, retryMs: number, pending: () => Promise<number>): Promise<SseConnection> {
    // better-sse makes a fetch Request of it, which takes no user name or password.
    const url = URL.parse(ctx.req.url ?? '/', `http://${ctx.req.headers.host ?? 'localhost'}`);
    if (url === null || url.username !== '' || url.password !== '') {
      throw new ServiceError('bad_request', 'The Host header or the path is no part of a URL that can be used here.');
    }
    const session = await createSession(ctx.req, ctx.res, {
      statusCode: 200,
      retry: retryMs,
      keepAlive: null,
      trustClientEventId: false,
      headers: { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
      ...WIRE,
    });
    // Only now: what fails before must be answered.
    ctx.respond = false;
    const connection = new SseConnection(session, ctx.res, pending);
    if (session.isConnected) await session.batch(ping);
    return connection;
  }

  get isOpen(): boolean {
    return this.session.isConnected && !this.res.writableEnded;
  }

  /** Sends frames of a turn in one write and waits until the socket takes more. */
  async send(turnId: string, frames: Frame[], signal: AbortSignal): Promise<void> {
    if (!this.isOpen) return;
    this.res.cork();
    await Promise.all(frames.map((frame) => this.session.batch(wireOf(turnId, frame))));
    this.res.uncork();
    if (this.res.writableNeedDrain) await once(this.res, 'drain', { signal }).catch(() => undefined);
  }

  /** Ends the response after what was sent. */
  end(): void {
    clearInterval(this.#ping);
    if (!this.res.writableEnded) this.res.end();
  }

  /** Runs when the socket has neither taken nor given a byte for 10 s; progress inside one large frame counts. */
  async #closeWhenStalled(): Promise<void> {
    if (this.res.writableNeedDrain) {
      const pending = this.res.writableLength + (await this.pending().catch(() => 0));
      if (pending > MAX_PENDING) this.res.destroy();
    }
    this.res.socket?.setTimeout(STALL_MS);
  }
}

function wireOf(turnId: string, frame: Frame): EventBuffer {
  let wire = encoded.get(frame);
  if (wire === undefined) {
    wire = createEventBuffer(WIRE).push(frame.json, frame.type, formatEventId(turnId, frame.position));
    encoded.set(frame, wire);
  }
  return wire;
}
