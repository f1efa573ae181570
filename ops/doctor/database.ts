import { DatabaseAwayError } from '../../src/db/connect-error.js';
import type { Database } from '../../src/db/db.js';
import { sqlState } from '../../src/db/transaction.js';
import { withDatabase } from '../command.js';
import { CheckError, LIMITS_MS } from './check.js';

/** SQLSTATE of a server, a database or a role that has as many connections as it may have. */
const TOO_MANY_CONNECTIONS = '53300';

/**
 * Runs work on the database. The limit of the check ends a connection that does not come, so that its row says why.
 * @throws CheckError if all connections are taken
 */
export async function withDoctorsDatabase<T>(databaseUrl: string, work: (db: Database) => Promise<T>): Promise<T> {
  try {
    return await withDatabase(databaseUrl, 'doctor', work, LIMITS_MS[1]);
  } catch (error) {
    if (!(error instanceof DatabaseAwayError) || sqlState(error.cause) !== TOO_MANY_CONNECTIONS) throw error;
    throw new CheckError(
      `all connections of Postgres are taken: ${(error.cause as Error).message}`,
      'Postgres answers, and the login is right. End connections that are not of the service: docs/operations/runbook.md#connectionsrunout',
    );
  }
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
