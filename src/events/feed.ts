import type { DataSource } from 'typeorm';
import { listen } from '../db/listen.js';
import type { Logger } from '../platform/logger.js';
import { CHANNEL, parseNotification, turnOfNotification } from './notify.js';
import { TurnReader } from './reader.js';

const POLL_MS = 1000;

/**
 * What a process knows of turns in progress: one LISTEN connection, one reader per watched turn shared by all its
 * watchers, and a poll for what a notification did not bring. The tables are the truth, notifications a nudge.
 */
export class Feed {
  #readers = new Map<string, TurnReader>();
  #waiting = new Map<string, Set<() => void>>();
  #listener;
  #poll: NodeJS.Timeout;
  #polling = false;

  constructor(
    databaseUrl: string,
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    this.#listener = listen(
      databaseUrl,
      CHANNEL,
      (payload) => this.#receive(payload),
      () => this.#catchUpAll(),
      log,
    );
    this.#poll = setInterval(() => void this.#pollTables(), POLL_MS);
  }

  /** The reader of a turn, kept while anybody watches; calls `wake` when there may be more. `release` it. */
  watch(turnId: string, wake: () => void): TurnReader {
    let reader = this.#readers.get(turnId);
    if (reader === undefined) {
      reader = new TurnReader(turnId, this.db, this.log);
      this.#readers.set(turnId, reader);
    }
    reader.watchers.add(wake);
    return reader;
  }

  release(reader: TurnReader, wake: () => void): void {
    reader.watchers.delete(wake);
    if (reader.watchers.size > 0) return;
    this.#readers.delete(reader.turnId);
    reader.close();
  }

  /** Resolves at the next sign of a turn of the session, or at each poll; the caller looks at the table. */
  sessionNudge(sessionId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(sessionId) ?? new Set();
      this.#waiting.set(sessionId, waiting);
      const done = (): void => {
        waiting.delete(done);
        if (waiting.size === 0 && this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
  }

  /** Turns watched and sessions waited for, for metrics and leak checks. */
  get size(): { readers: number; waiting: number } {
    return { readers: this.#readers.size, waiting: this.#waiting.size };
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    for (const reader of this.#readers.values()) reader.close();
    await this.#listener.close();
  }

  #receive(payload: string): void {
    const reader = this.#readers.get(turnOfNotification(payload));
    if (reader === undefined && this.#waiting.size === 0) return;
    const wake = parseNotification(payload);
    if (wake === null) return;
    if ('stored' in wake) {
      this.#nudge(wake.sessionId);
      reader?.reached([wake.stored, 0, 0]);
    } else {
      reader?.delta(wake);
    }
  }

  #nudge(sessionId: string): void {
    for (const wake of this.#waiting.get(sessionId) ?? []) wake();
  }

  #catchUpAll(): void {
    for (const reader of this.#readers.values()) reader.catchUp();
    for (const sessionId of this.#waiting.keys()) this.#nudge(sessionId);
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
    if (!this.#listener.connected) {
      for (const reader of this.#readers.values()) reader.catchUp();
      return;
    }
    const rows: { id: string; position: number; attempt: number; number: number }[] = await this.db.query(
      `SELECT id, turns.position, coalesce(latest.attempt, 0) AS attempt, coalesce(latest.number, 0) AS number
       FROM turns LEFT JOIN LATERAL (
         SELECT attempt, number FROM deltas WHERE turn_id = turns.id AND deltas.position = turns.position
         ORDER BY attempt DESC, number DESC LIMIT 1) AS latest ON true
       WHERE id = ANY($1)`,
      [[...this.#readers.keys()]],
    );
    for (const row of rows) this.#readers.get(row.id)?.reached([row.position, row.attempt, row.number]);
  }

  async #pollSessions(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const rows: { id: string }[] = await this.db.query(
      `SELECT asked.id FROM unnest($1::text[]) AS asked(id)
       LEFT JOIN sessions ON sessions.id = asked.id AND deleted_at IS NULL
       WHERE sessions.id IS NULL OR last_turn_id IS NOT NULL`,
      [[...this.#waiting.keys()]],
    );
    for (const row of rows) this.#nudge(row.id);
  }
}
