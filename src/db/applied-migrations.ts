import type { Database } from './db.js';
import { SetupError } from '../platform/setup-error.js';
import { migrationFiles, nameOf, numberOf } from './migrations/index.js';
import { sqlState } from './transaction.js';

const UNDEFINED_TABLE = '42P01';
const KNOWN = new Set(migrationFiles.map(nameOf));
const NEWEST = migrationFiles.at(-1)!.number;

/** The migrations of before 1.0.0: their names end with this, and their number of two digits. */
const EARLIER = /^\w+18000000000(\d\d)$/;
/** The first and the last of them whose databases `adopt` takes over. */
const ADOPTABLE = { first: 16, last: 26 };

/** No migration leads from the database, as it is now, to the schema that this code needs. */
export class SchemaRefusedError extends SetupError {
  override readonly name = 'SchemaRefusedError';

  constructor(
    readonly detail: string,
    readonly remedy: string,
  ) {
    super(`${detail[0]!.toUpperCase()}${detail.slice(1)}. ${remedy}`);
  }
}

/** The names of the migrations that the database has, in order; none if it is empty. */
export async function appliedMigrations(db: Database): Promise<string[]> {
  const rows = await db
    .query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id')
    .catch((error: unknown): { name: string }[] => {
      if (sqlState(error) === UNDEFINED_TABLE) return [];
      throw error;
    });
  return rows.map(({ name }) => name);
}

/** The number of the last migration of a database of before 1.0.0; null for every other database. */
export function earlierMigration(applied: readonly string[]): number | null {
  const numbers = applied.map((name) => Number(EARLIER.exec(name)?.[1] ?? Number.NaN));
  return numbers.length === 0 || numbers.some(Number.isNaN) ? null : Math.max(...numbers);
}

/**
 * Accepts an empty database, one with migrations of this version and of newer ones, and one that `adopt` takes over.
 * @throws SchemaRefusedError for every other one
 */
export function requireKnown(applied: readonly string[]): void {
  const earlier = earlierMigration(applied);
  if (earlier !== null && earlier < ADOPTABLE.first) {
    throw new SchemaRefusedError(
      `this database is of an early version before 1.0.0 (migration ${earlier})`,
      'Run npm run migrate of the commit b1783436 on it, which brings it to migration 16, then that of this version.',
    );
  }
  if (earlier !== null && earlier <= ADOPTABLE.last) return;
  const unknown = applied.find((name, index) => !KNOWN.has(name) && (index === 0 || numberOf(name) <= NEWEST));
  if (unknown === undefined) return;
  throw new SchemaRefusedError(
    `this database was made by a version from which no migration leads to this one (its migration ${unknown})`,
    'Keep a dump of it (pg_dump) and start anew with an empty database (npm start: another DATA_DIR).',
  );
}
