import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { ServiceError, validationError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { MAX_FILE_BYTES, MAX_FILES, MAX_MEMORY_BYTES } from './limits.js';
import { placeProblem, prefixOf } from './paths.js';
import { lockMemory, readFiles, storeChanges, type ChangedBy, type Memory } from './store.js';

/** A file of a memory, without its text. `version` is that of the memory which gave it this text and path. */
export interface MemoryFile extends ChangedBy {
  path: string;
  size_bytes: number;
  sha256: Buffer;
  version: number;
  updated_at: string;
}

/** What a version did to one file. Size and hash are null for a deleted one. */
export interface MemoryVersion extends ChangedBy {
  version: number;
  path: string;
  change: 'created' | 'modified' | 'deleted';
  size_bytes: number | null;
  sha256: Buffer | null;
  created_at: string;
}

const FILE_COLUMNS = sql`path, size_bytes, sha256, version, updated_at, session_id, turn_id, key_id`;

/** The files below a folder, in the order of the bytes of their paths. */
export async function listFiles(
  db: Db,
  memoryId: string,
  folder: string,
  { limit, after }: PageRequest,
): Promise<PageRows<MemoryFile>> {
  const rows = await runSql<MemoryFile>(
    db,
    sql`SELECT ${FILE_COLUMNS} FROM memory_files
        WHERE memory_id = ${memoryId} AND starts_with(path, ${prefixOf(folder)}) AND path > ${after?.[0] ?? ''}
        ORDER BY path LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** What became of the files, newest first. @param path only of the file there */
export async function listVersions(
  db: Db,
  memoryId: string,
  path: string | undefined,
  { limit, after }: { limit: number; after: { version: number; path: string } | null },
): Promise<PageRows<MemoryVersion>> {
  const rows = await runSql<MemoryVersion>(
    db,
    sql`SELECT version, path, change, size_bytes, sha256, created_at, session_id, turn_id, key_id FROM memory_versions
        WHERE memory_id = ${memoryId} AND (${path ?? null}::text IS NULL OR path = ${path ?? null})
          AND (${after === null} OR (version, path) < (${after?.version ?? 0}::integer, ${after?.path ?? ''}::text))
        ORDER BY version DESC, path DESC LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/**
 * The text of a file: as it is now, or as it was after a version of the memory; null if there was none, or it is not kept.
 * @param version a number of a version; undefined for the present text
 */
export async function readText(
  db: Db,
  memoryId: string,
  path: string,
  version: number | undefined,
): Promise<string | null> {
  const [row] =
    version === undefined
      ? await runSql<{ text: string }>(
          db,
          sql`SELECT text FROM memory_files WHERE memory_id = ${memoryId} AND path = ${path}`,
        )
      : await runSql<{ text: string | null }>(
          db,
          // The present text is no row of a version, whose row may be forgotten already.
          sql`SELECT text FROM (
                SELECT version, text FROM memory_files WHERE memory_id = ${memoryId} AND path = ${path}
                UNION ALL SELECT version, text FROM memory_versions
                WHERE memory_id = ${memoryId} AND path = ${path} AND (text IS NOT NULL OR change = 'deleted')) AS texts
              WHERE version <= ${version}::integer
                AND ${version}::integer <= (SELECT version FROM memories WHERE id = ${memoryId})
              ORDER BY version DESC LIMIT 1`,
        );
  return row?.text ?? null;
}

interface NewFile {
  path: string;
  content: string;
  /** The hash of what the file must have now; null: it must not be there; undefined: it does not matter. */
  expectedSha256?: string | null | undefined;
}

/**
 * Makes a file or replaces its text.
 * @throws ServiceError `validation_error` at /path, `memory_not_found`, `memory_conflict`, `content_too_large`,
 * `memory_file_limit_reached`, `storage_limit_reached`
 */
export async function putFile(
  tx: Tx,
  memoryId: string,
  { path, content, expectedSha256 }: NewFile,
  by: ChangedBy,
  maxStorageBytes: number,
): Promise<MemoryFile> {
  const memory = await lockMemory(tx, memoryId);
  if (memory === null) throw memoryNotFound();
  const { files } = await readFiles(tx, memory.id, null);
  const problem = placeProblem(files, path);
  if (problem !== null) throw validationError('/path', problem);
  if (expectedSha256 !== undefined) await requireSha256(tx, memory, path, expectedSha256);
  requireRoom(files, path, Buffer.byteLength(content));
  const kind = files.has(path) ? 'modified' : 'created';
  await storeChanges(tx, memory, files, [{ kind, path, text: content }], by, maxStorageBytes);
  const [file] = await runSql<MemoryFile>(
    tx,
    sql`SELECT ${FILE_COLUMNS} FROM memory_files WHERE memory_id = ${memory.id} AND path = ${path}`,
  );
  return file!;
}

async function requireSha256(tx: Tx, memory: Memory, path: string, expected: string | null): Promise<void> {
  const [file] = await runSql<{ sha256: Buffer }>(
    tx,
    sql`SELECT sha256 FROM memory_files WHERE memory_id = ${memory.id} AND path = ${path}`,
  );
  const found = file?.sha256.toString('hex') ?? null;
  if (found === expected) return;
  throw new ServiceError(
    'memory_conflict',
    found === null
      ? 'The file is not there. Read the memory again before you write.'
      : 'The file has another text than the one that you expect. Read it again before you write.',
    { sha256: found },
  );
}

/** The same limits as for the commands of the tool. */
function requireRoom(files: ReadonlyMap<string, number>, path: string, bytes: number): void {
  if (bytes > MAX_FILE_BYTES)
    throw new ServiceError('content_too_large', `A file of a memory has at most ${MAX_FILE_BYTES} bytes.`, {
      max_bytes: MAX_FILE_BYTES,
    });
  if (!files.has(path) && files.size >= MAX_FILES)
    throw new ServiceError(
      'memory_file_limit_reached',
      `The memory has ${MAX_FILES} files, its limit. Delete one first.`,
    );
  const others = [...files].reduce((sum, [each, size]) => (each === path ? sum : sum + size), 0);
  if (others + bytes > MAX_MEMORY_BYTES)
    throw new ServiceError(
      'storage_limit_reached',
      `The files of the memory would have more than ${MAX_MEMORY_BYTES} bytes, its limit. Delete some first.`,
      { max_bytes: MAX_MEMORY_BYTES },
    );
}

export function memoryNotFound(): ServiceError {
  return new ServiceError('memory_not_found', 'There is no such memory.');
}
