import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { type PartState, stateOf } from '../platform/readiness.js';
import { isDatabaseAway } from './transaction.js';
import { appliedMigrations, requireKnown, SchemaRefusedError } from './applied-migrations.js';
import { migrationFiles, nameOf } from './migrations/index.js';

const POLL_INTERVAL_MS = 500;
const MAX_POLL_INTERVAL_MS = 5000;
const LOG_INTERVAL_MS = 15_000;

/**
 * The files of the migrations that this code needs and the database lacks.
 * @throws SchemaRefusedError if no migration leads from the database to this code
 */
export async function missingMigrations(db: DataSource): Promise<string[]> {
  const applied = await appliedMigrations(db);
  requireKnown(applied);
  const done = new Set(applied);
  return migrationFiles.filter((each) => !done.has(nameOf(each))).map(({ file }) => file);
}

/** Postgres as `/readyz` reports it: `ok` if it accepts writes and has the schema that this code needs. */
export async function postgresState(db: DataSource): Promise<{ postgres: PartState; reason?: string }> {
  let reason: string | undefined;
  const postgres = await stateOf(() =>
    isReady(db).catch((error: unknown) => {
      if (error instanceof SchemaRefusedError) reason = error.message;
      return false;
    }),
  );
  return { postgres, ...(reason !== undefined && { reason }) };
}

async function isReady(db: DataSource): Promise<boolean> {
  const [row] = await db.query<{ standby: boolean }[]>('SELECT pg_is_in_recovery() AS standby');
  return !row!.standby && (await missingMigrations(db)).length === 0;
}

/**
 * Opens a pool of the database as soon as it can be reached.
 * @throws LoginRefusedError if Postgres refuses the login
 */
export async function openWhenReachable(open: () => Promise<DataSource>, log: Logger): Promise<DataSource> {
  return pRetry(open, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: POLL_INTERVAL_MS,
    maxTimeout: MAX_POLL_INTERVAL_MS,
    shouldRetry: ({ error }) => isDatabaseAway(error),
    onFailedAttempt: ({ error }) => log.warn({ err: error }, 'Postgres is away, waiting for it'),
  });
}

/**
 * Waits until the database has the schema that this code needs: a deploy may start processes before it migrates.
 * @throws SchemaRefusedError if it will never have it
 */
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
