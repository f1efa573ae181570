import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { runSql, sql, type Sql } from './sql.js';
import { ignored } from '../platform/ignored.js';

/** A name that one process at a time can hold, measured by the clock of Postgres. */
interface LeaseOptions {
  name: string;
  holder: string;
  durationMs: number;
  /** Interval of renewals, and of attempts to take the lease while another process holds it. */
  intervalMs: number;
}

/** An answer of Postgres, by its clock. */
interface LeaseReply {
  at: string;
  /** Start of the unbroken run of answers of Postgres. */
  since: string;
  is_held: boolean;
}

/**
 * Takes a lease as soon as it is free and renews it until `release`. A process that dies loses it when it runs out.
 */
export class Lease {
  #heldUntil = 0;
  #last: LeaseReply | null = null;
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;

  constructor(
    private readonly db: DataSource,
    private readonly options: LeaseOptions,
  ) {
    this.#work = this.#run();
  }

  /** True while this process certainly holds the lease. */
  get isHeld(): boolean {
    return performance.now() < this.#heldUntil;
  }

  /**
   * Since when Postgres has answered this process without a gap as long as the lease; null before the first answer. While it stays the
   * same, nobody can have found that the lease had run out.
   */
  get since(): string | null {
    return this.#last?.since ?? null;
  }

  /**
   * SQL condition: this process holds the lease now, and Postgres has answered it without a gap for the given time. A gap is at least as
   * long as the lease.
   */
  heldAfter(steadyMs: number): Sql {
    const { name, holder } = this.options;
    return sql`EXISTS (
      SELECT FROM leases WHERE name = ${name} AND holder = ${holder} AND until > clock_timestamp()
        AND since < clock_timestamp() - ${steadyMs}::integer * interval '1 ms')`;
  }

  /** Releases the lease, so that another process need not wait until it runs out. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    this.#heldUntil = 0;
    const { name, holder } = this.options;
    await runSql(this.db, sql`DELETE FROM leases WHERE name = ${name} AND holder = ${holder}`).catch(
      ignored('the lease runs out by itself'),
    );
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#take().catch(ignored('the next round tries again'));
      await sleep(this.options.intervalMs, undefined, { signal }).catch(ignored('the pause was cut short'));
    }
  }

  async #take(): Promise<void> {
    const asked = performance.now();
    const { name, holder, durationMs } = this.options;
    const duration = sql`${durationMs}::integer * interval '1 ms'`;
    // While another process holds the lease this only reads: ON CONFLICT would lock the row, with a commit to flush.
    const [answer] = await runSql<LeaseReply>(
      this.db,
      sql`WITH now AS MATERIALIZED (
            SELECT at, CASE WHEN ${this.#last?.at ?? null}::timestamptz > at - ${duration}
              THEN ${this.#last?.since ?? null}::timestamptz ELSE at END AS since
            FROM clock_timestamp() AS at),
          taken AS (
            INSERT INTO leases (name, holder, since, until)
            SELECT ${name}, ${holder}, since, at + ${duration} FROM now
            WHERE NOT EXISTS (SELECT FROM leases WHERE name = ${name} AND holder <> ${holder} AND until >= at)
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until
            WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
            RETURNING name)
          SELECT at, since, EXISTS (SELECT FROM taken) AS is_held FROM now`,
    );
    this.#last = answer!;
    // Counted from before the query, so that a slow answer can only shorten the lease.
    this.#heldUntil = answer!.is_held ? asked + durationMs : 0;
  }
}
