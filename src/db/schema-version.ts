import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { isDatabaseAway, sqlState } from './transaction.js';

const POLL_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 15_000;
const UNDEFINED_TABLE = '42P01';

/** The migrations that this code needs and the database lacks. */
export async function missingMigrations(db: DataSource): Promise<string[]> {
  const needed = db.migrations.map((migration) => migration.name ?? migration.constructor.name);
  const rows = await db.query<{ name: string }[]>('SELECT name FROM migrations').catch((error: unknown) => {
    if (sqlState(error) === UNDEFINED_TABLE) return [];
    throw error;
  });
  const done = new Set(rows.map(({ name }) => name));
  return needed.filter((name) => !done.has(name));
}

/** True if the database accepts writes and has the schema that this code needs. */
export async function isReady(db: DataSource): Promise<boolean> {
  const [row] = await db.query<{ standby: boolean }[]>('SELECT pg_is_in_recovery() AS standby');
  return !row!.standby && (await missingMigrations(db)).length === 0;
}

/** Waits until the database has the schema that this code needs: a deploy may start processes before it migrates. */
export async function waitForSchema(db: DataSource, log: Logger): Promise<void> {
  let loggedAt = -Infinity;
  for (;;) {
    const missing = await missingMigrations(db).catch((error: unknown) => {
      if (isDatabaseAway(error)) return null;
      throw error;
    });
    if (missing?.length === 0) return;
    if (performance.now() - loggedAt > LOG_INTERVAL_MS) {
      loggedAt = performance.now();
      if (missing === null) log.warn('Postgres is away, waiting for it');
      else log.warn({ missing }, 'the database lacks migrations, waiting: run `npm run migrate` (image: role migrate)');
    }
    await sleep(POLL_INTERVAL_MS);
  }
}
