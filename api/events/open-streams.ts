import type { ServerResponse } from 'node:http';
import type { DataSource } from 'typeorm';
import { ServiceError } from '../../src/platform/errors.js';
import type { Logger } from '../../src/platform/logger.js';
import { openStreams } from '../../src/platform/metrics.js';
import { liveKeyIds, type LiveKey } from '../../src/projects/api-keys.js';
import type { SessionToken } from '../../src/projects/session-token.js';
import type { SseConnection } from './sse-connection.js';

const TICK_MS = 1000;
const TICKS_PER_KEY_CHECK = 4;
const RETRY_AFTER_SECONDS = '5';
/** Open streams of all tokens of a session in this process (docs/contract.md §16). */
const MAX_TOKEN_STREAMS = 10;

type StreamOwner = Pick<LiveKey, 'keyId' | 'projectId'> & { token: SessionToken | null };

export class OpenStream {
  readonly #controller = new AbortController();
  /** Set when the response begins. */
  connection: SseConnection | null = null;

  constructor(readonly owner: StreamOwner) {}

  /** Aborts when the stream must end or its client disconnects. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#controller.abort();
  }
}

/**
 * The event streams that this process serves. They end when the process drains, so that clients reconnect to another
 * process, within 10 s after their key is revoked (contract.md §5 `keys`), and when their session token has expired.
 */
export class OpenStreams {
  #streams = new Set<OpenStream>();
  readonly #perProject: StreamCount;
  readonly #perSession = new StreamCount(
    MAX_TOKEN_STREAMS,
    `The tokens of this session have ${MAX_TOKEN_STREAMS} open streams together, their limit. Close one, or try again later.`,
  );
  #timer: NodeJS.Timeout;
  #ticks = 0;
  #closed = false;

  constructor(
    private readonly db: DataSource,
    maxPerProject: number,
    private readonly log: Logger,
  ) {
    this.#perProject = new StreamCount(
      maxPerProject,
      `The project has ${maxPerProject} open streams, its limit. Close one, or try again later.`,
    );
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Runs one stream.
   * @throws ServiceError too_many_streams
   */
  async run(owner: StreamOwner, res: ServerResponse, serve: (stream: OpenStream) => Promise<void>): Promise<void> {
    const leave = this.#count(owner);
    openStreams.inc();
    const stream = new OpenStream(owner);
    this.#streams.add(stream);
    // The request arrived before the drain began. If the stream stayed open, it would delay the drain to its limit.
    if (this.#closed || res.closed) stream.end();
    res.once('close', () => stream.end());
    try {
      await serve(stream);
    } finally {
      this.#streams.delete(stream);
      leave();
      openStreams.dec();
    }
  }

  /** Ends all streams after their current frame, and every stream that opens later. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  /** Counts a stream; returns a function that uncounts it. The streams of one page do not use up those of the project. */
  #count({ projectId, token }: StreamOwner): () => void {
    const leaveSession = token === null ? null : this.#perSession.enter(token.sessionId);
    try {
      const leaveProject = this.#perProject.enter(projectId);
      return () => {
        leaveSession?.();
        leaveProject();
      };
    } catch (error) {
      leaveSession?.();
      throw error;
    }
  }

  #tick(): void {
    const now = Date.now();
    for (const stream of this.#streams) {
      stream.connection?.tick(now);
      if (stream.owner.token !== null && stream.owner.token.expiresAt <= now) stream.end();
    }
    this.#ticks += 1;
    if (this.#ticks % TICKS_PER_KEY_CHECK === 0) void this.#endRevoked();
  }

  async #endRevoked(): Promise<void> {
    // A stream that opens during this check is part of the next one.
    const checked = [...this.#streams];
    if (checked.length === 0) return;
    try {
      const live = await liveKeyIds(this.db, [...new Set(checked.map(({ owner }) => owner.keyId))]);
      for (const stream of checked) if (!live.has(stream.owner.keyId)) stream.end();
    } catch (err) {
      this.log.warn({ err }, 'the keys of open streams could not be checked; the next check tries again');
    }
  }
}

/** The open streams of each project or session. */
class StreamCount {
  readonly #open = new Map<string, number>();

  constructor(
    private readonly max: number,
    private readonly message: string,
  ) {}

  /** Returns a function that ends the stream. @throws ServiceError too_many_streams */
  enter(id: string): () => void {
    const open = this.#open.get(id) ?? 0;
    if (open >= this.max) {
      throw new ServiceError('too_many_streams', this.message, undefined, { 'Retry-After': RETRY_AFTER_SECONDS });
    }
    this.#open.set(id, open + 1);
    return () => {
      const left = this.#open.get(id)! - 1;
      if (left === 0) this.#open.delete(id);
      else this.#open.set(id, left);
    };
  }
}
