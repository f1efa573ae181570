import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { openDataSource } from './data-source.js';
import { sqlState } from './transaction.js';
import { appliedMigrations, refuseUnreleased } from './unreleased.js';
import { ignored } from '../platform/ignored.js';

/** Key of the advisory lock: processes that migrate at the same time run one after the other. */
const LOCK = 7_301_842_115;
const LOCK_NOT_AVAILABLE = '55P03';
const TRIES = 30;
const RETRY_INTERVAL_MS = 1000;

/**
 * Migrates the database at `databaseUrl`; returns the names of the migrations that ran. A migration that waits 2 s for
 * a lock gives up and retries after a second, so that the statements queued behind it can run.
 * @throws if it gets no lock within a minute and a half
 * @throws UnreleasedSchemaError before it changes anything
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const dataSource = await openDataSource(databaseUrl, 2, 'migrate', 'migration');
  const runner = dataSource.createQueryRunner();
  try {
    await retryOnLockTimeout(() => runner.query('SELECT pg_advisory_lock($1)', [LOCK]));
    return await runMigrations(dataSource);
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(ignored('the lock ends with the connection'));
    await runner.release();
    await dataSource.destroy();
  }
}

/** Each migration commits separately, so a retry continues after the finished ones. */
async function runMigrations(dataSource: DataSource): Promise<string[]> {
  const before = await retryOnLockTimeout(() => appliedMigrations(dataSource));
  await retryOnLockTimeout(() => refuseUnreleased(dataSource, before));
  await retryOnLockTimeout(() => dataSource.runMigrations());
  const after = await appliedMigrations(dataSource);
  return after.map(({ name }) => name).filter((name) => !before.some((applied) => applied.name === name));
}

async function retryOnLockTimeout<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      await sleep(RETRY_INTERVAL_MS);
    }
  }
}
