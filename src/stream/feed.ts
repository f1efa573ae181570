import pLimit from 'p-limit';
import type { DataSource } from 'typeorm';
import { Listener } from '../db/listen.js';
import type { Logger } from '../platform/logger.js';
import { channelOf, parseNotification, turnOfNotification } from './notify.js';
import { TurnReader } from './reader.js';
import { RingBudget } from './ring.js';

const POLL_INTERVAL_MS = 1000;
/** A poll looks for deltas of all turns that often, otherwise only of those whose notifications may have been missed. */
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
  readonly #budget = new RingBudget();
  #readers = new Map<string, TurnReader>();
  #waiting = new Map<string, Set<() => void>>();
  /** For each channel, the number of watched turns and awaited sessions that use it. */
  #channels = new Map<string, number>();
  #listener: Listener;
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
    this.#listener = new Listener(
      listenUrl,
      { onPayload: (payload) => this.receive(payload), onConnect: () => this.#afterConnect() },
      log,
    );
    this.#poll = setInterval(() => void this.#pollTables(), POLL_INTERVAL_MS);
  }

  /** Returns the shared reader of a turn. It calls `notify` when there may be new frames. Call `release` when done. */
  watch(turnId: string, notify: () => void): TurnReader {
    let reader = this.#readers.get(turnId);
    if (reader === undefined) {
      reader = new TurnReader(turnId, this.#budget.createRing(), this.#listen(turnId), this.#limit, this.db, this.log);
      this.#readers.set(turnId, reader);
    }
    reader.watchers.add(notify);
    return reader;
  }

  release(reader: TurnReader, notify: () => void): void {
    reader.watchers.delete(notify);
    if (reader.watchers.size > 0) return;
    this.#readers.delete(reader.turnId);
    this.#unlisten(reader.turnId);
    reader.close();
  }

  /**
   * Waits for the first turn of a session. `changed` resolves at the next notification about the session, or when a
   * poll finds a turn or the session is deleted. The caller then reads the table.
   */
  async awaitTurn(sessionId: string, signal: AbortSignal): Promise<{ changed: Promise<void> }> {
    const listening = this.#listen(sessionId);
    const changed = new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(sessionId) ?? new Set();
      this.#waiting.set(sessionId, waiting);
      const done = (): void => {
        if (!waiting.delete(done)) return;
        if (waiting.size === 0 && this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
        this.#unlisten(sessionId);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
    await listening;
    return { changed };
  }

  /** Counts watched turns, awaited sessions, channels and bytes in rings, for metrics and leak checks. */
  get size(): { readers: number; waiting: number; channels: number; ringBytes: number } {
    return {
      readers: this.#readers.size,
      waiting: this.#waiting.size,
      channels: this.#channels.size,
      ringBytes: this.#budget.used,
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    for (const reader of this.#readers.values()) reader.close();
    await this.#listener.close();
  }

  #listen(id: string): Promise<void> {
    const channel = channelOf(id);
    this.#channels.set(channel, (this.#channels.get(channel) ?? 0) + 1);
    return this.#listener.add(channel);
  }

  #unlisten(id: string): void {
    const channel = channelOf(id);
    const users = this.#channels.get(channel)! - 1;
    if (users > 0) {
      this.#channels.set(channel, users);
    } else {
      this.#channels.delete(channel);
      this.#listener.remove(channel);
    }
  }

  /** Takes a notification, from Postgres or from this process. One that comes twice changes nothing. */
  receive(payload: string): void {
    const reader = this.#readers.get(turnOfNotification(payload));
    if (reader === undefined && this.#waiting.size === 0) return;
    const notification = parseNotification(payload);
    if (notification === null) return;
    if (notification.kind === 'stored') {
      this.#wakeWaiting(notification.sessionId);
      reader?.takeStored(notification.position, notification.live);
    } else {
      reader?.takeLive(notification);
    }
  }

  #wakeWaiting(sessionId: string): void {
    for (const notify of [...(this.#waiting.get(sessionId) ?? [])]) notify();
  }

  /** Earlier notifications are lost. One query tells who missed any: all processes connect again at the same time. */
  #afterConnect(): void {
    this.#connectedAt = performance.now();
    void this.#pollTables();
  }

  async #pollTables(): Promise<void> {
    if (this.#polling || (this.#readers.size === 0 && this.#waiting.size === 0)) return;
    this.#polling = true;
    try {
      await Promise.all([this.#pollReaders(), this.#pollSessions()]);
    } catch (err) {
      this.log.warn({ err }, 'the poll for stream readers failed, the next one follows');
    } finally {
      this.#polling = false;
    }
  }

  async #pollReaders(): Promise<void> {
    if (this.#readers.size === 0) return;
    const ids = [...this.#readers.keys()];
    const rows: { id: string; position: number; attempt: number; last: number }[] = await this.db.query(
      `SELECT id, turns.position, coalesce(latest.attempt, 0) AS attempt, coalesce(latest.last, 0) AS last
       FROM turns LEFT JOIN LATERAL (
         SELECT attempt, last FROM deltas
         WHERE turns.id = ANY($2) AND turn_id = turns.id AND deltas.position = turns.position
         ORDER BY attempt DESC, last DESC LIMIT 1) AS latest ON true
       WHERE id = ANY($1)`,
      [ids, this.#unsettled(ids)],
    );
    for (const row of rows) this.#readers.get(row.id)?.storedUpTo([row.position, row.attempt, row.last]);
  }

  /** The turns of which deltas may have been missed. */
  #unsettled(ids: string[]): string[] {
    const now = performance.now();
    const isDue = now - this.#deltasPolledAt >= DELTAS_POLL_INTERVAL_MS;
    if (isDue) this.#deltasPolledAt = now;
    if (isDue || !this.#listener.isConnected || now - this.#connectedAt < UNSETTLED_MS) return ids;
    return ids.filter((id) => now - this.#readers.get(id)!.beganAt < UNSETTLED_MS);
  }

  async #pollSessions(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const rows: { id: string }[] = await this.db.query(
      `SELECT asked.id FROM unnest($1::text[]) AS asked(id)
       LEFT JOIN sessions ON sessions.id = asked.id AND deleted_at IS NULL
       WHERE sessions.id IS NULL OR last_turn_id IS NOT NULL`,
      [[...this.#waiting.keys()]],
    );
    for (const row of rows) this.#wakeWaiting(row.id);
  }
}
