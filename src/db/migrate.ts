import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, Logger } from 'typeorm';
import { adopt } from './adopt.js';
import { appliedMigrations, earlierMigration, requireKnown } from './applied-migrations.js';
import { openDataSource } from './data-source.js';
import { titleOf } from './migrations/index.js';
import { sqlState } from './transaction.js';
import { ignored } from '../platform/ignored.js';

/** Key of the advisory lock: processes that migrate at the same time run one after the other. */
const LOCK = 7_301_842_115;
const LOCK_NOT_AVAILABLE = '55P03';
const TRIES = 30;
const RETRY_INTERVAL_MS = 1000;

/**
 * Migrates the database at `databaseUrl`; returns the migrations that ran, as `2-name`. A migration that waits 2 s for
 * a lock gives up and retries after a second, so that the statements queued behind it can run.
 * @param note is given what an operator should read meanwhile
 * @throws if it gets no lock within a minute and a half
 * @throws SchemaRefusedError before it changes anything
 */
export async function migrate(databaseUrl: string, note: (line: string) => void = writeToStderr): Promise<string[]> {
  const dataSource = await openDataSource(databaseUrl, 2, 'migrate', 'migration');
  const failures = new FailureNotes();
  dataSource.logger = failures;
  const retry: Retry = (work) => retryOnLockTimeout(work, failures, note);
  const runner = dataSource.createQueryRunner();
  try {
    await retry(() => runner.query('SELECT pg_advisory_lock($1)', [LOCK]));
    return await runMigrations(dataSource, retry);
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(ignored('the lock ends with the connection'));
    await runner.release();
    await dataSource.destroy();
  }
}

/** Each migration commits separately, so a retry continues after the finished ones. */
async function runMigrations(dataSource: DataSource, retry: Retry): Promise<string[]> {
  const before = await retry(() => appliedMigrations(dataSource));
  requireKnown(before);
  const earlier = earlierMigration(before);
  if (earlier !== null) await retry(() => adopt(dataSource, earlier));
  await retry(() => dataSource.runMigrations());
  const after = await appliedMigrations(dataSource);
  return after.filter((name) => !before.includes(name)).map(titleOf);
}

type Retry = <T>(work: () => Promise<T>) => Promise<T>;

async function retryOnLockTimeout<T>(
  work: () => Promise<T>,
  failures: FailureNotes,
  note: (line: string) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const failure = failures.take();
      if (attempt === TRIES || sqlState(error) !== LOCK_NOT_AVAILABLE) {
        if (failure !== null) note(failure);
        throw error;
      }
      note(`A migration waits for a lock, tries again (${attempt} of ${TRIES - 1}). The service goes on meanwhile.`);
      await sleep(RETRY_INTERVAL_MS);
    }
  }
}

function writeToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Keeps what typeorm would print about a migration that failed: a failure that passes is none for an operator. */
class FailureNotes implements Logger {
  #failure: string | null = null;

  /** The name and the failure of the migration that failed last; null without one. */
  take(): string | null {
    const failure = this.#failure;
    this.#failure = null;
    return failure;
  }

  logMigration(message: string): void {
    this.#failure = / failed, error: /.test(message) ? message : null;
  }

  logQuery(): void {}
  logQueryError(): void {}
  logQuerySlow(): void {}
  logSchemaBuild(): void {}
  log(): void {}
}
