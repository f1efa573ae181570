import pLimit from 'p-limit';
import { type Database, In, IsNull, MoreThan, Not } from '../db/db.js';
import { FileEntity } from '../db/entities/files.js';
import { ProjectEntity } from '../db/entities/projects.js';
import { SkillEntity } from '../db/entities/skills.js';
import { claimStorage, OWNER_ERRORS } from './ownership.js';
import { finishRemoval } from './remove.js';
import { ObjectMissingError, type Storage, type StoredObject } from './storage.js';

interface CleanOptions {
  /** Minimum age of an object to remove, or time since a workspace had it. Younger ones may belong to a request under way. */
  olderThanSeconds: number;
  /** Limit of objects, and of rows, per run. */
  limit: number;
  /** Removes the rows of missing objects even if there are many. An operator decides this. */
  removeMissing?: boolean;
  /** The position where the previous run stopped. */
  from?: CleanPosition | null;
}

/** Progress of a clean-up: the last object and the last row checked; null for a part that is complete. */
export interface CleanPosition {
  object: string | null;
  row: string | null;
}

export interface CleanCounts {
  finishedDeletions: number;
  /** Number of objects removed because no row refers to them. */
  removedObjects: number;
  /** Number of rows deleted because their object is lost. */
  removedRows: number;
}

interface CleanResult extends CleanCounts {
  /** Null once everything is checked. */
  next: CleanPosition | null;
}

/** If a larger share of objects is missing, the whole storage is probably wrong or lost: an operator decides. */
const MAX_MISSING_SHARE = 0.01;
const BATCH = 500;
const PARALLEL = 8;

/**
 * Makes storage and tables consistent: finishes deletions, removes objects without an owner, and deletes files whose
 * object is lost. Checks at most `limit` of each and returns where to continue.
 * @throws Error if database and storage do not belong together
 */
export async function cleanStorage(db: Database, storage: Storage, options: CleanOptions): Promise<CleanResult> {
  const { olderThanSeconds, limit, from } = options;
  const owner = await claimStorage(db, storage);
  if (owner !== 'ours') throw new Error(OWNER_ERRORS[owner]);
  if (!(await db.getRepository(ProjectEntity).exists()))
    throw new Error('The database has no projects: is DATABASE_URL the right one?');
  const finishedDeletions = await finishDeletions(db, storage, limit);
  const olderThan = new Date(Date.now() - olderThanSeconds * 1000);
  if (!from) await db.query('DELETE FROM replaced_objects WHERE replaced_at < $1', [olderThan]);
  const rows = await removeLost(db, storage, options, from ? from.row : '');
  const objects = await removeOrphans(db, storage, olderThan, limit, from ? from.object : '');
  const next = { object: objects.next, row: rows.next };
  return {
    finishedDeletions,
    removedObjects: objects.removed,
    removedRows: rows.removed,
    next: next.object === null && next.row === null ? null : next,
  };
}

interface Part {
  removed: number;
  next: string | null;
}

const DONE: Part = { removed: 0, next: null };

async function finishDeletions(db: Database, storage: Storage, limit: number): Promise<number> {
  const rows = await db.getRepository(FileEntity).find({
    select: { id: true, storage_key: true },
    where: { deleted_at: Not(IsNull()) },
    order: { deleted_at: 'ASC' },
    take: limit,
  });
  await pLimit(PARALLEL).map(rows, (row) => finishRemoval(db, storage, row));
  return rows.length;
}

async function removeOrphans(
  db: Database,
  storage: Storage,
  olderThan: Date,
  limit: number,
  after: string | null,
): Promise<Part> {
  if (after === null) return DONE;
  let listed = 0;
  let removed = 0;
  let batch: StoredObject[] = [];
  const judge = async (): Promise<void> => {
    const orphans = await withoutOwner(db, batch, olderThan);
    await pLimit(PARALLEL).map(orphans, (key) => storage.delete(key));
    removed += orphans.length;
    batch = [];
  };
  for await (const object of storage.list('', after)) {
    listed += 1;
    if (object.createdAt < olderThan) batch.push(object);
    if (batch.length === BATCH) await judge();
    if (listed === limit) {
      await judge();
      return { removed, next: object.key };
    }
  }
  await judge();
  return { removed, next: null };
}

/** The folders whose objects rows name by their keys. */
const OWNED_BY_KEY = new Set<string | undefined>(['files', 'skills', 'workspaces']);

/** Turns that exist, or of which a copy exists (src/turns/fork): it has the same results. */
async function existingTurns(db: Database, ids: string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }[]>(
    `SELECT id FROM turns WHERE id = ANY($1::text[])
     UNION ALL SELECT copied_from FROM turns WHERE copied_from = ANY($1::text[])`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * The objects that the newest version of a workspace or a kept one has, be it that of the session in the key or one that began as its
 * copy; and those that it had until `olderThan` or later. What no version has any more, no later one will have.
 */
async function inWorkspaces(db: Database, keys: string[], olderThan: Date): Promise<string[]> {
  const rows = await db.query<{ key: string }[]>(
    `SELECT key FROM unnest($1::text[]) AS objects (key)
     WHERE EXISTS (SELECT FROM workspaces w WHERE w.objects @> ARRAY[objects.key])
       OR EXISTS (SELECT FROM kept_workspaces k WHERE k.objects @> ARRAY[objects.key])
       OR EXISTS (SELECT FROM replaced_objects r WHERE r.key = objects.key AND replaced_at >= $2)`,
    [keys, olderThan],
  );
  return rows.map(({ key }) => key);
}

async function withoutOwner(db: Database, objects: StoredObject[], olderThan: Date): Promise<string[]> {
  const keys = objects.map(({ key }) => key);
  const turnOf = (key: string): string => key.split('/')[1] ?? '';
  const inFolder = (folder: string): string[] => keys.filter((key) => key.startsWith(`${folder}/`));
  const [files, skills, turns, workspaces] = await Promise.all([
    db.getRepository(FileEntity).find({
      select: { storage_key: true },
      where: { storage_key: In(inFolder('files')) },
    }),
    db.getRepository(SkillEntity).find({
      select: { storage_key: true },
      where: { storage_key: In(inFolder('skills')), deleted_at: IsNull() },
    }),
    existingTurns(db, inFolder('results').map(turnOf)),
    inWorkspaces(db, inFolder('workspaces'), olderThan),
  ]);
  const owners = new Set([...files, ...skills].map(({ storage_key }) => storage_key).concat(turns, workspaces));
  return keys.filter((key) => {
    const [folder] = key.split('/');
    if (folder === 'tmp') return true;
    if (folder === 'results') return !owners.has(turnOf(key));
    return OWNED_BY_KEY.has(folder) && !owners.has(key);
  });
}

async function removeLost(
  db: Database,
  storage: Storage,
  { limit, removeMissing = false }: CleanOptions,
  after: string | null,
): Promise<Part> {
  if (after === null) return DONE;
  const rows = await db.getRepository(FileEntity).find({
    select: { id: true, storage_key: true },
    where: { deleted_at: IsNull(), id: MoreThan(after) },
    order: { id: 'ASC' },
    take: limit,
  });
  const lost = (
    await pLimit(PARALLEL).map(rows, async (row) => ((await isLost(storage, row.storage_key)) ? row.id : []))
  ).flat();
  if (!removeMissing && lost.length > Math.max(1, rows.length * MAX_MISSING_SHARE)) {
    throw new Error(
      `${lost.length} of ${rows.length} files have no object, ${lost[0]} for one. Nothing was changed about them. ` +
        'Restore the objects, or remove these rows: npm run maintenance -- storage --remove-missing',
    );
  }
  await db.getRepository(FileEntity).delete({ id: In(lost), deleted_at: IsNull() });
  return { removed: lost.length, next: rows.length === limit ? rows.at(-1)!.id : null };
}

async function isLost(storage: Storage, key: string): Promise<boolean> {
  try {
    await storage.size(key);
    return false;
  } catch (error) {
    if (error instanceof ObjectMissingError) return true;
    throw error;
  }
}
