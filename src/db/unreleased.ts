import type { DataSource } from 'typeorm';
import { SetupError } from '../platform/setup-error.js';
import { fingerprints } from './migrations/index.js';
import { RELEASED_SCHEMA } from './migrations/released-schema.js';
import { schemaObjects } from './schema-objects.js';
import { sqlState } from './transaction.js';

const UNDEFINED_TABLE = '42P01';
const MAX_NAMED = 3;

/** A migration that the database has; its fingerprint is null if it ran before fingerprints were kept. */
export interface AppliedMigration {
  name: string;
  sha256: string | null;
}

const REMEDY =
  'keep a dump of it (pg_dump), read it with the version that made it if you must, and start anew with an empty database ' +
  '(npm start: another DATA_DIR); see docs/operations/upgrading.md';

/** No migration leads from the database to the schema that this code needs. */
export class UnreleasedSchemaError extends SetupError {
  override readonly name = 'UnreleasedSchemaError';
  readonly remedy = `${REMEDY[0]!.toUpperCase()}${REMEDY.slice(1)}.`;

  constructor(readonly detail: string) {
    super(`${detail[0]!.toUpperCase()}${detail.slice(1)}: ${REMEDY}.`);
  }
}

function unreleased(evidence: string): UnreleasedSchemaError {
  return new UnreleasedSchemaError(
    `this database was made by an unreleased version (${evidence}), from which no migration leads to this one`,
  );
}

/** The migrations that the database has, in order; none if it is empty. */
export async function appliedMigrations(db: DataSource): Promise<AppliedMigration[]> {
  const read = (query: string): Promise<AppliedMigration[] | null> =>
    db.query<AppliedMigration[]>(query).catch((error: unknown) => {
      if (sqlState(error) === UNDEFINED_TABLE) return null;
      throw error;
    });
  return (
    (await read('SELECT name, sha256 FROM migrations LEFT JOIN migration_fingerprints USING (name) ORDER BY id')) ??
    (await read('SELECT name, NULL AS sha256 FROM migrations ORDER BY id')) ??
    []
  );
}

/**
 * Accepts an empty database, one of a released version, and one that a newer version has migrated.
 * @throws UnreleasedSchemaError for every other one
 */
export async function refuseUnreleased(db: DataSource, applied: readonly AppliedMigration[]): Promise<void> {
  const newest = Math.max(...[...fingerprints.keys()].map(numberOf));
  for (const { name, sha256 } of applied) {
    const released = fingerprints.get(name);
    // A newer version has migrations with higher numbers.
    if (released === undefined && numberOf(name) <= newest) throw unreleased(`migration ${name}`);
    if (released !== undefined && sha256 !== null && sha256 !== released) {
      throw unreleased(`another text of migration ${name}`);
    }
  }
  if (applied.length === 0 || applied.some(({ sha256 }) => sha256 !== null)) return;
  // Only the first migration has run, before fingerprints were kept: its schema decides.
  const found = await schemaObjects(db);
  const other = Object.keys(RELEASED_SCHEMA).filter((object) => found.get(object) !== RELEASED_SCHEMA[object]);
  if (other.length === 0) return;
  const more = other.length > MAX_NAMED ? ` and ${other.length - MAX_NAMED} more` : '';
  throw unreleased(`another ${other.slice(0, MAX_NAMED).join(', ')}${more}`);
}

/** The number at the end of its name, which orders migrations. */
function numberOf(name: string): number {
  return Number(name.slice(-13));
}
