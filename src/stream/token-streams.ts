import { randomUUID } from 'node:crypto';
import type { Database } from '../db/db.js';
import { Lease } from '../db/lease.js';
import { runSql, sql } from '../db/sql.js';
import type { Round } from '../platform/rounds.js';
import { sqlState } from '../db/transaction.js';

/** Open streams of all tokens of a session, in all processes together (docs/decisions.md "Session tokens"). */
export const MAX_TOKEN_STREAMS = 10;

const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
const LEASE_NAME = 'token streams of ';
/** A process that lives has renewed its lease by then, even if Postgres was away. */
const DEAD_AFTER = "interval '1 minute'";
const MAX_BATCH = 1000;
const FOREIGN_KEY_VIOLATION = '23503';

/** `missed`: another stream was faster. `has dead`: all slots are taken, some by processes whose lease has run out. */
type Outcome = 'taken' | 'missed' | 'has dead' | 'full';

/** A stream's slot of its session. */
export interface TokenSlot {
  sessionId: string;
  streamId: string;
}

/**
 * The slots that the streams of this process hold. A slot is a row, so that no two streams can have the same one, whatever process serves
 * them. It belongs to the lease of its process, and whoever deletes a lease that has run out deletes the slots with it. The lease begins
 * with the first stream of a token.
 */
export class TokenStreams {
  readonly #id = randomUUID();
  #lease: Lease | null = null;
  /** The run of the lease in which this process last saw its slots. */
  #seenSince: string | null = null;
  #givenBack: TokenSlot[] = [];
  #deleting: Promise<void> | null = null;

  /** `backgroundPool`: for what must not wait behind requests. */
  constructor(
    private readonly db: Database,
    private readonly backgroundPool: Database,
  ) {}

  get #name(): string {
    return LEASE_NAME + this.#id;
  }

  /** Takes a slot for a stream of the session; null if all are taken. */
  async take(sessionId: string): Promise<TokenSlot | null> {
    this.#lease ??= new Lease(this.backgroundPool, {
      name: this.#name,
      holder: this.#id,
      durationMs: LEASE_MS,
      intervalMs: RENEW_MS,
    });
    const slot = { sessionId, streamId: randomUUID() };
    try {
      // Each time that another stream is faster, one slot fewer is free.
      for (let tried = 0; tried < MAX_TOKEN_STREAMS; tried += 1) {
        const outcome = await this.#insert(slot);
        if (outcome === 'taken') return slot;
        if (outcome === 'full') return null;
        if (outcome === 'has dead') await this.#deleteDeadLeases(sessionId);
      }
      return null;
    } catch (error) {
      // Postgres may have stored it before the answer was lost.
      this.giveBack(slot);
      throw error;
    }
  }

  /** Gives a slot back, soon; `retry` tries again what failed. */
  giveBack(slot: TokenSlot): void {
    this.#givenBack.push(slot);
    this.retry();
  }

  /** Deletes what was given back. */
  retry(): void {
    this.#deleting ??= this.#delete().finally(() => (this.#deleting = null));
  }

  /**
   * Those of these slots that are gone: this process could not renew its lease in time, and another one needed room. To be asked now and
   * then; it reads only after the lease has had a gap.
   */
  async findLost(held: readonly TokenSlot[]): Promise<TokenSlot[]> {
    const since = this.#lease?.since ?? null;
    if (since === this.#seenSince) return [];
    const rows = await runSql<{ stream_id: string }>(
      this.backgroundPool,
      sql`SELECT stream_id FROM token_streams WHERE lease = ${this.#name}`,
    );
    this.#seenSince = since;
    const stored = new Set(rows.map(({ stream_id }) => stream_id));
    return held.filter(({ streamId }) => !stored.has(streamId));
  }

  /** Gives all slots back. */
  async close(): Promise<void> {
    await this.#deleting;
    await this.#lease?.release();
  }

  async #insert({ sessionId, streamId }: TokenSlot): Promise<Outcome> {
    try {
      const [row] = await runSql<{ outcome: Outcome }>(
        this.db,
        // The commit is asynchronous: a crash of Postgres closes no stream, but a reader need not wait for its disk either.
        sql`WITH settings AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
            of_process AS (
              INSERT INTO leases (name, holder, until)
              SELECT ${this.#name}, ${this.#id}, clock_timestamp() + ${LEASE_MS}::integer * interval '1 ms' FROM settings
              ON CONFLICT DO NOTHING),
            free AS MATERIALIZED (
              SELECT n FROM generate_series(1, ${MAX_TOKEN_STREAMS}::integer) AS n
              WHERE NOT EXISTS (SELECT FROM token_streams WHERE session_id = ${sessionId} AND slot = n)
              -- So streams that open together rarely want the same one.
              ORDER BY random() LIMIT 1),
            taken AS (
              INSERT INTO token_streams (session_id, slot, stream_id, lease)
              SELECT ${sessionId}, n, ${streamId}, ${this.#name} FROM free
              ON CONFLICT DO NOTHING RETURNING slot)
            SELECT CASE WHEN EXISTS (SELECT FROM taken) THEN 'taken'
              WHEN EXISTS (SELECT FROM free) THEN 'missed'
              WHEN EXISTS (SELECT FROM token_streams JOIN leases ON name = lease
                WHERE session_id = ${sessionId} AND until < clock_timestamp()) THEN 'has dead'
              ELSE 'full' END AS outcome`,
      );
      return row!.outcome;
    } catch (error) {
      // The lease had run out, and another process deleted it during the statement.
      if (sqlState(error) === FOREIGN_KEY_VIOLATION) return 'missed';
      throw error;
    }
  }

  /** Deletes the leases that have run out of processes with a slot of the session. */
  async #deleteDeadLeases(sessionId: string): Promise<void> {
    await runSql(
      this.db,
      sql`DELETE FROM leases WHERE until < clock_timestamp()
            AND name IN (SELECT lease FROM token_streams WHERE session_id = ${sessionId})`,
    );
  }

  async #delete(): Promise<void> {
    while (this.#givenBack.length > 0) {
      const batch = this.#givenBack.slice(0, MAX_BATCH);
      try {
        await runSql(
          this.backgroundPool,
          sql`WITH settings AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
              DELETE FROM token_streams t
              USING unnest(${batch.map(({ sessionId }) => sessionId)}::text[], ${batch.map(({ streamId }) => streamId)}::text[])
                AS given (session_id, stream_id), settings
              WHERE t.session_id = given.session_id AND t.stream_id = given.stream_id`,
        );
      } catch {
        // They stay in the list for `retry`.
        return;
      }
      this.#givenBack.splice(0, batch.length);
    }
  }
}

/** Deletes the slots of processes that died. The limit does not depend on it: who finds a session full does it for that session. */
export async function deleteDeadTokenStreams(db: Database): Promise<void> {
  await db.query(
    `DELETE FROM leases WHERE name >= '${LEASE_NAME}' AND name < '${LEASE_NAME}~' AND until < clock_timestamp() - ${DEAD_AFTER}`,
  );
}

export const deadTokenStreams: Round<{ db: Database }> = {
  name: 'streams of dead processes',
  everyMs: 15_000,
  run: ({ db }) => deleteDeadTokenStreams(db),
};
