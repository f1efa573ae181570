import type { ServerResponse } from 'node:http';
import type { Database } from '../../src/db/db.js';
import { ServiceError } from '../../src/platform/errors.js';
import { ignored } from '../../src/platform/ignored.js';
import type { Logger } from '../../src/platform/logger.js';
import { openStreams } from '../../src/platform/metrics.js';
import { liveKeyIds, type LiveKey } from '../../src/projects/api-keys.js';
import type { SessionToken } from '../../src/projects/session-token.js';
import { MAX_TOKEN_STREAMS, type TokenSlot, type TokenStreams } from '../../src/stream/token-streams.js';
import type { SseConnection } from './sse-connection.js';

const TICK_MS = 1000;
const TICKS_PER_CHECK = 4;
const RETRY_AFTER_SECONDS = '5';

type StreamOwner = Pick<LiveKey, 'keyId' | 'projectId'> & { token: SessionToken | null };

export class OpenStream {
  readonly #controller = new AbortController();
  /** Set when the response begins. */
  connection: SseConnection | null = null;

  /** `slot`: null for a stream of a key, and while the slot is being taken again. */
  constructor(
    readonly owner: StreamOwner,
    public slot: TokenSlot | null,
  ) {}

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
 * process, within 10 s after their key is revoked (decisions.md "Running it" `keys`), and when their session token has expired.
 */
export class OpenStreams {
  #streams = new Set<OpenStream>();
  readonly #perProject: StreamCount;
  #timer: NodeJS.Timeout;
  #ticks = 0;
  #closed = false;

  constructor(
    private readonly db: Database,
    maxPerProject: number,
    private readonly tokenStreams: TokenStreams,
    private readonly log: Logger,
  ) {
    this.#perProject = new StreamCount(
      maxPerProject,
      `The project has ${maxPerProject} open streams, its limit. Close one, or try again later.`,
    );
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Counts a stream, until `leave`.
   * @throws ServiceError too_many_streams
   */
  async enter(owner: StreamOwner, res: ServerResponse): Promise<OpenStream> {
    // Of the session before the project: the streams of one page do not use up those of the project.
    const slot = owner.token === null ? null : await this.#takeSlot(owner.token);
    const stream = new OpenStream(owner, slot);
    try {
      this.#perProject.enter(owner.projectId);
    } catch (error) {
      this.#giveBack(stream);
      throw error;
    }
    openStreams.inc();
    this.#streams.add(stream);
    // The request arrived before the drain began. If the stream stayed open, it would delay the drain to its limit.
    if (this.#closed || res.closed) stream.end();
    res.once('close', () => stream.end());
    return stream;
  }

  leave(stream: OpenStream): void {
    this.#streams.delete(stream);
    this.#perProject.leave(stream.owner.projectId);
    openStreams.dec();
    this.#giveBack(stream);
  }

  #giveBack({ slot }: OpenStream): void {
    if (slot !== null) this.tokenStreams.giveBack(slot);
  }

  /** Ends all streams after their current frame, and every stream that opens later. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
  }

  async #takeSlot({ familyId }: SessionToken): Promise<TokenSlot> {
    const slot = await this.tokenStreams.take(familyId);
    if (slot !== null) return slot;
    throw tooManyStreams(
      `The tokens of this session have ${MAX_TOKEN_STREAMS} open streams together, their limit. Close one, or try again later.`,
    );
  }

  #tick(): void {
    const now = Date.now();
    for (const stream of this.#streams) {
      stream.connection?.tick(now);
      if (stream.owner.token !== null && stream.owner.token.expiresAt <= now) stream.end();
    }
    this.#ticks += 1;
    if (this.#ticks % TICKS_PER_CHECK !== 0) return;
    void this.#endRevoked();
    void this.#takeLostSlots();
    this.tokenStreams.retry();
  }

  /** Takes the slots again that other processes took while this one could not renew its lease. A stream that gets none ends. */
  async #takeLostSlots(): Promise<void> {
    const holders = new Map(
      [...this.#streams].flatMap((stream) => (stream.slot === null ? [] : [[stream.slot, stream]])),
    );
    const lost = await this.tokenStreams.findLost([...holders.keys()]).catch((err: unknown) => {
      this.log.warn({ err }, 'the slots of open streams could not be checked; the next check tries again');
      return [];
    });
    for (const old of lost) {
      const stream = holders.get(old)!;
      if (!this.#streams.has(stream)) continue;
      stream.slot = null;
      const slot = await this.tokenStreams.take(old.sessionId).catch(ignored('the stream ends'));
      if (this.#streams.has(stream)) stream.slot = slot ?? null;
      else if (slot) this.tokenStreams.giveBack(slot);
      if (!slot) stream.end();
    }
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

function tooManyStreams(message: string): ServiceError {
  return new ServiceError('too_many_streams', message, undefined, { 'Retry-After': RETRY_AFTER_SECONDS });
}

/** The open streams of each project in this process. */
class StreamCount {
  readonly #open = new Map<string, number>();

  constructor(
    private readonly max: number,
    private readonly message: string,
  ) {}

  /** @throws ServiceError too_many_streams */
  enter(id: string): void {
    const open = this.#open.get(id) ?? 0;
    if (open >= this.max) throw tooManyStreams(this.message);
    this.#open.set(id, open + 1);
  }

  leave(id: string): void {
    const left = this.#open.get(id)! - 1;
    if (left === 0) this.#open.delete(id);
    else this.#open.set(id, left);
  }
}
