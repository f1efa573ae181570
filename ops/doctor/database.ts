import type { Database } from '../../src/db/db.js';
import { withDatabase } from '../command.js';
import { CheckError, LIMITS_MS } from './check.js';

/** Runs work on the database. The limit of the check ends a connection that does not come, so that its row says why. */
export function withDoctorsDatabase<T>(databaseUrl: string, work: (db: Database) => Promise<T>): Promise<T> {
  return withDatabase(databaseUrl, 'doctor', work, LIMITS_MS[1]);
}

/**
 * Runs work that reads the service's tables.
 * @throws CheckError if there are none
 */
export async function withSchema<T>(databaseUrl: string, work: (db: Database) => Promise<T>): Promise<T> {
  return withDoctorsDatabase(databaseUrl, async (db) => {
    const [table] = await db.query<{ there: boolean }[]>(`SELECT to_regclass('turns') IS NOT NULL AS there`);
    if (!table!.there) throw new CheckError('cannot be read: the database has no tables', 'See `schema`.');
    return work(db);
  });
}
