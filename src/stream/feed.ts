import pLimit from 'p-limit';
import type { DataSource } from 'typeorm';
import { Listener } from '../db/listen.js';
import { unlessLate } from '../platform/limited-wait.js';
import type { Logger } from '../platform/logger.js';
import { idsOfNotification, parseNotification } from './notify.js';
import { readOpening, type OpenedTurn, type Opening, type SeenTurn, type StreamPlace } from './opening.js';
import { findBegunOrGone, readPositions } from './poll.js';
import { TurnReader } from './reader.js';
import { RingMemory } from './ring.js';
import { SessionChannels } from './session-channels.js';
import { SessionOpening } from './session-opening.js';

const POLL_INTERVAL_MS = 1000;
/** At this interval a poll reads the deltas of all turns; other polls only those whose notifications may have been missed. */
const DELTAS_POLL_INTERVAL_MS = 5000;
/** Deltas are notified at once and stored a moment later: a reader that begins in between finds them in neither place. */
const UNSETTLED_MS = 2000;
/** Turns that are read at once: after an outage of Postgres, all readers of all processes may be behind. */
export const MAX_PARALLEL_READS = 4;

/**
 * Follows the open turns that this process streams: one LISTEN connection, one shared reader per watched turn, and a
 * poll that finds events after a lost notification. The tables are the source of truth.
 */
export class Feed {
  readonly #budget = new RingMemory();
  #readers = new Map<string, TurnReader>();
  /** For each session, the reader of the turn that was opened last. */
  #latest = new Map<string, TurnReader>();
  #openings = new Map<string, Set<SessionOpening>>();
  #channels: SessionChannels;
  #poll: NodeJS.Timeout;
  #polling = false;
  #deltasPolledAt = 0;
  #connectedAt = 0;
  readonly #limit = pLimit(MAX_PARALLEL_READS);

  constructor(
    listenUrl: string,
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    const handlers = {
      onPayload: (payload: string) => this.receive(payload),
      onConnect: () => this.#afterConnect(),
    };
    this.#channels = new SessionChannels(new Listener(listenUrl, handlers, log));
    this.#poll = setInterval(() => void this.#pollTables(), POLL_INTERVAL_MS);
  }

  /**
   * Begins to listen to a session, for a stream that opens or goes on behind a turn. Call `closeOpening` when done; `watch` does
   * so too.
   */
  open(sessionId: string, seen: SeenTurn | null = null): SessionOpening {
    const opening = new SessionOpening(sessionId, this.#channels.join(sessionId), seen);
    const others = this.#openings.get(sessionId);
    if (others === undefined) this.#openings.set(sessionId, new Set([opening]));
    else others.add(opening);
    return opening;
  }

  closeOpening(opening: SessionOpening): void {
    const { sessionId } = opening;
    const all = this.#openings.get(sessionId);
    if (all?.delete(opening) !== true) return;
    if (all.size === 0) this.#openings.delete(sessionId);
    this.#channels.leave(sessionId);
  }

  /**
   * Reads where a stream starts, and its next frames unless a reader may have them. `changed` resolves when something is stored
   * in the session after that, or may be. A stream that has had the turn before, or has waited for the first one, goes on with
   * the turn that others follow.
   */
  async readOpening(
    opening: SessionOpening,
    place: StreamPlace,
  ): Promise<{ start: Opening | null; changed: Promise<void> }> {
    const { sessionId, listening } = opening;
    // If Postgres does not answer on that connection, the poll finds what the stream misses.
    await unlessLate(listening, POLL_INTERVAL_MS, () => undefined);
    return this.#limit(async () => {
      const changed = opening.begin();
      const followed = this.#latest.get(sessionId);
      if (followed !== undefined && followed.number - 1 === opening.seen?.number)
        return { start: followed.fromStart, changed };
      const start = await readOpening(this.db, sessionId, place, followed === undefined);
      if (start?.kind === 'wait') opening.seen = start.seen;
      return { start, changed };
    });
  }

  /**
   * Returns the shared reader of the turn that a stream opened in. It calls `notify` when there may be new frames. Call
   * `release` when done.
   */
  watch(turn: OpenedTurn, opening: SessionOpening, notify: () => void): TurnReader {
    let reader = this.#readers.get(turn.turnId);
    if (reader === undefined) {
      void this.#channels.join(turn.sessionId);
      reader = new TurnReader(turn, this.#budget.createRing(), this.#limit, this.db, this.log);
      this.#readers.set(turn.turnId, reader);
      this.#latest.set(turn.sessionId, reader);
      opening.giveTo(reader);
    }
    this.closeOpening(opening);
    reader.watchers.add(notify);
    return reader;
  }

  release(reader: TurnReader, notify: () => void): void {
    reader.watchers.delete(notify);
    if (reader.watchers.size > 0) return;
    const { turnId, sessionId } = reader;
    this.#readers.delete(turnId);
    if (this.#latest.get(sessionId) === reader) this.#latest.delete(sessionId);
    this.#channels.leave(sessionId);
    reader.close();
  }

  /** Counts watched turns, opening streams, channels and bytes in rings, for metrics and leak checks. */
  get size(): { readers: number; openings: number; channels: number; ringBytes: number } {
    return {
      readers: this.#readers.size,
      openings: this.#openings.size,
      channels: this.#channels.size,
      ringBytes: this.#budget.used,
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    for (const reader of this.#readers.values()) reader.close();
    await this.#channels.close();
  }

  /** Takes a notification, from Postgres or from this process. One that comes twice changes nothing. */
  receive(payload: string): void {
    const { turnId, sessionId } = idsOfNotification(payload);
    const reader = this.#readers.get(turnId);
    const openings = this.#openings.get(sessionId);
    if (reader === undefined && openings === undefined) return;
    const notification = parseNotification(payload);
    if (notification === null) return;
    reader?.take(notification);
    for (const opening of openings ?? []) opening.take(notification);
  }

  /** Earlier notifications are lost. One query tells who missed any: all processes connect again at the same time. */
  #afterConnect(): void {
    this.#connectedAt = performance.now();
    void this.#pollTables();
  }

  async #pollTables(): Promise<void> {
    if (this.#polling || (this.#readers.size === 0 && this.#openings.size === 0)) return;
    this.#polling = true;
    try {
      await Promise.all([this.#pollReaders(), this.#pollSessions()]);
    } catch (err) {
      this.log.warn({ err }, 'the poll for stream readers failed; the next one tries again');
    } finally {
      this.#polling = false;
    }
  }

  async #pollReaders(): Promise<void> {
    if (this.#readers.size === 0) return;
    const ids = [...this.#readers.keys()];
    const rows = await readPositions(this.db, ids, this.#unsettled(ids));
    for (const row of rows) this.#readers.get(row.id)?.storedUpTo([row.position, row.attempt, row.last]);
  }

  /** The turns of which deltas may have been missed. */
  #unsettled(ids: string[]): string[] {
    const now = performance.now();
    const isDue = now - this.#deltasPolledAt >= DELTAS_POLL_INTERVAL_MS;
    if (isDue) this.#deltasPolledAt = now;
    if (isDue || !this.#channels.isConnected || now - this.#connectedAt < UNSETTLED_MS) return ids;
    return ids.filter((id) => now - this.#readers.get(id)!.beganAt < UNSETTLED_MS);
  }

  async #pollSessions(): Promise<void> {
    if (this.#openings.size === 0) return;
    const waiting = [...this.#openings.values()].flatMap((openings) => [...openings]);
    const ids = waiting.map(({ sessionId }) => sessionId);
    const seen = waiting.map((opening) => opening.seen?.turnId ?? null);
    for (const index of await findBegunOrGone(this.db, ids, seen)) waiting[index]!.wake();
  }
}
