import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { Logger } from '../platform/logger.js';

/** The use of a key must show within a minute (docs/decisions.md "Results"). */
const STORE_INTERVAL_MS = 5000;
const HOUR_MS = 3_600_000;
const MAX_KEPT = 100_000;

/** Notes when keys are used, to the hour. A process writes once an hour for each key, however many requests it has. */
export class KeyUse {
  /** The hour in which each key was last used. */
  readonly #hours = new Map<string, number>();
  /** Those of them that are not stored yet. */
  #toStore = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly db: Db,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => void this.#store(), STORE_INTERVAL_MS);
    this.#timer.unref();
  }

  note(keyId: string): void {
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    if (this.#hours.get(keyId) === hour) return;
    if (this.#hours.size >= MAX_KEPT) this.#hours.clear();
    this.#hours.set(keyId, hour);
    this.#toStore.set(keyId, hour);
  }

  /** Stores what was noted. After a failure it is stored the next time. */
  async #store(): Promise<void> {
    if (this.#toStore.size === 0) return;
    const noted = this.#toStore;
    this.#toStore = new Map();
    const times = [...noted.values()].map((hour) => new Date(hour).toISOString());
    try {
      await runSql(
        this.db,
        sql`UPDATE api_keys SET last_used_at = used.at
            FROM unnest(${[...noted.keys()]}::text[], ${times}::timestamptz[]) AS used (id, at)
            WHERE api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`,
      );
    } catch (err) {
      this.#toStore = new Map([...noted, ...this.#toStore]);
      this.log.warn({ err }, 'the last use of keys was not stored; it is tried again');
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#store();
  }
}
