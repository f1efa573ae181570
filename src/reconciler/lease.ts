import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { runSql, sql } from '../db/sql.js';

/** A name that one process at a time may hold. Postgres keeps the time. */
interface LeaseOptions {
  name: string;
  holder: string;
  durationMs: number;
  /** How often the lease is renewed, or asked for while another process holds it. */
  intervalMs: number;
}

/**
 * Takes a lease as soon as it is free and renews it until `release`. A process that dies loses it when it runs out.
 */
export class Lease {
  #heldUntil = 0;
  #steadySince = Infinity;
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

  /** How long Postgres has answered each question of this lease in time; negative when it has not. */
  get steadyMs(): number {
    return performance.now() - this.#steadySince;
  }

  /** Gives the lease back, so that another process need not wait for it to run out. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    this.#heldUntil = 0;
    const { name, holder } = this.options;
    await runSql(this.db, sql`DELETE FROM leases WHERE name = ${name} AND holder = ${holder}`).catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const asked = performance.now();
      const isSteady = await this.#take(asked).then(
        () => performance.now() - asked < this.options.intervalMs,
        () => false,
      );
      if (!isSteady) this.#steadySince = Infinity;
      else if (this.#steadySince === Infinity) this.#steadySince = asked;
      await sleep(this.options.intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #take(asked: number): Promise<void> {
    const { name, holder, durationMs } = this.options;
    const rows = await runSql(
      this.db,
      sql`INSERT INTO leases (name, holder, until)
          VALUES (${name}, ${holder}, clock_timestamp() + ${durationMs}::integer * interval '1 ms')
          ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
          WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
          RETURNING name`,
    );
    // From before the question on: a slow answer shortens the lease here, never lengthens it.
    this.#heldUntil = rows.length > 0 ? asked + durationMs : 0;
  }
}
