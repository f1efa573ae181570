import type { DataSource } from 'typeorm';
import { withDatabase } from '../command.js';
import { CheckError } from './check.js';

/**
 * Runs work that reads the service's tables.
 * @throws CheckError if there are none
 */
export async function withSchema<T>(databaseUrl: string, work: (db: DataSource) => Promise<T>): Promise<T> {
  return withDatabase(databaseUrl, 'doctor', async (db) => {
    const [table] = await db.query<{ there: boolean }[]>(`SELECT to_regclass('turns') IS NOT NULL AS there`);
    if (!table!.there) throw new CheckError('cannot be read: the database has no tables', 'See `schema`.');
    return work(db);
  });
}
