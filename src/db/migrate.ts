import { openDataSource } from './data-source.js';

/** Any number that this service alone uses: two processes that migrate at once take turns. */
const LOCK = 7_301_842_115;

/** Brings the database at `databaseUrl` up to date; returns the names of the migrations that ran. */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const dataSource = await openDataSource(databaseUrl, 2, 'migrate');
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const done = await dataSource.runMigrations();
    return done.map((migration) => migration.name);
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    await runner.release();
    await dataSource.destroy();
  }
}
