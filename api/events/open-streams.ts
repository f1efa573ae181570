import type { ServerResponse } from 'node:http';
import type { DataSource } from 'typeorm';
import { ServiceError } from '../../src/platform/errors.js';
import type { Logger } from '../../src/platform/logger.js';
import { openStreams } from '../../src/platform/metrics.js';
import { liveKeyIds, type LiveKey } from '../../src/projects/api-keys.js';
import type { SseConnection } from './sse-connection.js';

const TICK_MS = 1000;
const TICKS_PER_KEY_CHECK = 4;
const RETRY_AFTER_SECONDS = '5';

type StreamOwner = Pick<LiveKey, 'keyId' | 'projectId'>;

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
 * process, and within 10 s after their key is revoked (contract.md §5 `keys`).
 */
export class OpenStreams {
  #streams = new Set<OpenStream>();
  #perProject = new Map<string, number>();
  #timer: NodeJS.Timeout;
  #ticks = 0;
  #closed = false;

  constructor(
    private readonly db: DataSource,
    private readonly maxPerProject: number,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Runs one stream.
   * @throws ServiceError too_many_streams
   */
  async run(owner: StreamOwner, res: ServerResponse, serve: (stream: OpenStream) => Promise<void>): Promise<void> {
    this.#count(owner.projectId, 1);
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
      this.#count(owner.projectId, -1);
      openStreams.dec();
    }
  }

  /** Ends all streams after their current frame, and every stream that opens later. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  #count(projectId: string, change: 1 | -1): void {
    const open = this.#perProject.get(projectId) ?? 0;
    if (change === 1 && open >= this.maxPerProject) {
      throw new ServiceError(
        'too_many_streams',
        `The project has ${this.maxPerProject} open streams, its limit. Close one, or try again later.`,
        undefined,
        { 'Retry-After': RETRY_AFTER_SECONDS },
      );
    }
    if (open + change === 0) this.#perProject.delete(projectId);
    else this.#perProject.set(projectId, open + change);
  }

  #tick(): void {
    const now = Date.now();
    for (const { connection } of this.#streams) connection?.tick(now);
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
