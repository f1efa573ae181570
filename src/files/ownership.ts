import type { Database } from '../db/db.js';
import type { Logger } from '../platform/logger.js';
import { ObjectMissingError, type Storage } from './storage.js';

/** The object that names the storage's owner. */
const MARKER = 'installation';
const MAX_MARKER_BYTES = 1000;

/**
 * `ours`: owned by this database. `copied`: owned by the database that this one was restored from or replaces.
 * `foreign`: owned by another installation.
 */
type StorageOwner = 'ours' | 'copied' | 'foreign';

interface Mark {
  installation: string;
  /** Server and database name. A dump restored elsewhere keeps the installation's id, but not this. */
  database: string;
}

export async function storageOwner(db: Database, storage: Storage): Promise<StorageOwner | null> {
  const found = await readMark(storage);
  if (found === null) return null;
  const own = await ownMark(db);
  if (found.installation !== own.installation) return 'foreign';
  return found.database === own.database ? 'ours' : 'copied';
}

/** Reads the owner of a storage. A storage without a marker gets this database's. */
export async function claimStorage(db: Database, storage: Storage): Promise<StorageOwner> {
  const owner = await storageOwner(db, storage);
  if (owner !== null) return owner;
  await adoptStorage(db, storage);
  return 'ours';
}

/** Runs at the start of a process: marks a new storage, and warns if maintenance will refuse the storage. */
export async function warnOfForeignStorage(db: Database, storage: Storage, log: Logger): Promise<void> {
  const owner = await claimStorage(db, storage).catch((err: unknown) => {
    log.warn({ err }, 'the owner of the storage could not be read');
    return 'ours';
  });
  if (owner !== 'ours') log.warn({ owner }, OWNER_ERRORS[owner as keyof typeof OWNER_ERRORS]);
}

/** Marks the storage as this database's, whatever its marker says. An operator decides this after a restore. */
export async function adoptStorage(db: Database, storage: Storage): Promise<void> {
  await writeMark(storage, await ownMark(db));
}

export const OWNER_ERRORS: Readonly<Record<Exclude<StorageOwner, 'ours'>, string>> = {
  copied:
    'STORAGE_URL is marked as the storage of the database that this one was copied from. Give a copy its own storage; ' +
    'if this database replaces the other one, run: npm run maintenance -- adopt-storage',
  foreign:
    'STORAGE_URL is marked as the storage of another installation. Give each installation its own bucket, prefix or folder.',
};

async function ownMark(db: Database): Promise<Mark> {
  const [mark] = await db.query<[Mark]>(
    `SELECT installation.id AS installation, system_identifier || '/' || pg_database.oid AS database
     FROM installation, pg_control_system(), pg_database WHERE datname = current_database()`,
  );
  return mark;
}

async function readMark(storage: Storage): Promise<Mark | null> {
  try {
    return JSON.parse((await storage.read(MARKER, MAX_MARKER_BYTES)).toString()) as Mark;
  } catch (error) {
    if (error instanceof ObjectMissingError) return null;
    throw error;
  }
}

async function writeMark(storage: Storage, mark: Mark): Promise<void> {
  await storage.put(MARKER, Buffer.from(JSON.stringify(mark)), { contentType: 'application/json' });
}
