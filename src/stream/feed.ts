import type { Database } from '../db/db.js';
import { asProject } from '../db/project-pool.js';
import { Listener } from '../db/listen.js';
import { FairQueue } from '../platform/fair-queue.js';
import type { Logger } from '../platform/logger.js';
import { channelOf, idsOfNotification, parseNotification, type TurnNotification } from './notify.js';
import { findBehind } from './read-next.js';
import { SessionReader } from './reader.js';
import { RingMemory } from './ring.js';

const POLL_INTERVAL_MS = 1000;
/** At this interval a poll reads the deltas of all turns; other polls only those whose notifications may have been missed. */
const DELTAS_POLL_INTERVAL_MS = 5000;
/** Deltas are notified at once and stored a moment later: a reader that begins in between finds them in neither place. */
const UNSETTLED_MS = 2000;
/** Sessions that are read at once: after an outage of Postgres, all readers of all processes may be behind. */
export const MAX_PARALLEL_READS = 4;

/**
 * Follows the sessions that this process streams: one LISTEN connection, one shared reader for each session, and a poll that
 * finds events after a lost notification. The tables are the source of truth.
 */
export class Feed {
  readonly #ringMemory = new RingMemory();
  readonly #readers = new Map<string, SessionReader>();
  readonly #listener: Listener;
  readonly #poll: NodeJS.Timeout;
  #isPolling = false;
  #deltasPolledAt = 0;
  #connectedAt = 0;
  /** The lines of the projects take turns, and one read is always left for another one. */
  readonly #reads = new FairQueue({ total: MAX_PARALLEL_READS, perProject: MAX_PARALLEL_READS - 1 });

  constructor(
    listenUrl: string,
    private readonly db: Database,
    private readonly log: Logger,
  ) {
    const handlers = {
      onPayload: (payload: string) => this.#receivePayload(payload),
      onConnect: () => this.#afterConnect(),
    };
    this.#listener = new Listener(listenUrl, handlers, log);
    this.#poll = setInterval(() => void this.#pollTables(), POLL_INTERVAL_MS);
  }

  /** The shared reader of a session, which calls `notify` when there may be new frames. Call `leave` when done. */
  join(sessionId: string, projectId: string, notify: () => void): SessionReader {
    let reader = this.#readers.get(sessionId);
    if (reader === undefined) {
      const listening = this.#listener.add(channelOf(sessionId));
      const inTurn = <T>(read: () => Promise<T>): Promise<T> =>
        this.#reads.within(projectId, () => asProject(projectId, read));
      reader = new SessionReader(sessionId, listening, this.#ringMemory.createRing(), inTurn, this.db, this.log);
      this.#readers.set(sessionId, reader);
    }
    reader.watchers.add(notify);
    return reader;
  }

  leave(reader: SessionReader, notify: () => void): void {
    reader.watchers.delete(notify);
    if (reader.watchers.size > 0) return;
    this.#readers.delete(reader.sessionId);
    this.#listener.remove(channelOf(reader.sessionId));
    reader.close();
  }

  /** Counts watched sessions, channels and bytes in rings, for leak checks. */
  get size(): { readers: number; channels: number; ringBytes: number } {
    return { readers: this.#readers.size, channels: this.#listener.size, ringBytes: this.#ringMemory.used };
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    for (const reader of this.#readers.values()) reader.close();
    await this.#listener.close();
  }

  /** Takes a notification, from Postgres or from this process. One that comes twice changes nothing. */
  receive(sessionId: string, notification: TurnNotification): void {
    this.#readers.get(sessionId)?.take(notification);
  }

  #receivePayload(payload: string): void {
    const { sessionId } = idsOfNotification(payload);
    if (!this.#readers.has(sessionId)) return;
    const notification = parseNotification(payload);
    if (notification !== null) this.receive(sessionId, notification);
  }

  /** Earlier notifications are lost. One query tells who missed any: all processes connect again at the same time. */
  #afterConnect(): void {
    this.#connectedAt = performance.now();
    void this.#pollTables();
  }

  async #pollTables(): Promise<void> {
    const readers = [...this.#readers.values()].filter(({ head }) => head !== null);
    if (this.#isPolling || readers.length === 0) return;
    this.#isPolling = true;
    try {
      const unsettled = this.#unsettled();
      const behind = await findBehind(
        this.db,
        readers.map(({ head }) => head!),
        readers.map((reader) => unsettled(reader)),
      );
      for (const index of behind) readers[index]!.catchUp();
    } catch (err) {
      this.log.warn({ err }, 'the poll for stream readers failed; the next one tries again');
    } finally {
      this.#isPolling = false;
      for (const reader of readers) reader.trim();
    }
  }

  /** Whether deltas of a reader's turn may have been missed. */
  #unsettled(): (reader: SessionReader) => boolean {
    const now = performance.now();
    const isDue = now - this.#deltasPolledAt >= DELTAS_POLL_INTERVAL_MS;
    if (isDue) this.#deltasPolledAt = now;
    const all = isDue || !this.#listener.isConnected || now - this.#connectedAt < UNSETTLED_MS;
    return ({ turnSince }) => all || now - turnSince < UNSETTLED_MS;
  }
}
