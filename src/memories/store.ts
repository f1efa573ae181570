import { createHash } from 'node:crypto';
import type { Database, Db, Tx } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction, write } from '../db/transaction.js';
import { requireStorage } from '../files/storage-limit.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { FileChange, MemoryFiles } from './commands.js';
import { MAX_VERSION_BYTES, MAX_VERSIONS } from './limits.js';
import type { MemoryOwner } from './owner.js';
import { prefixOf } from './paths.js';

/** A memory (docs/memory.md). `version` counts its changes; the bytes are those of its files. */
export interface Memory {
  id: string;
  project_id: string;
  end_user: string | null;
  agent_id: string | null;
  version: number;
  file_count: number;
  size_bytes: number;
  created_at: string;
  updated_at: string;
}

/** Who changes a memory: a turn of a session, or a request with a key. */
export interface ChangedBy {
  session_id: string | null;
  turn_id: string | null;
  key_id: string | null;
}

export const MEMORY_COLUMNS = rawSql(
  'id, project_id, end_user, agent_id, version, file_count, size_bytes, created_at, updated_at',
);

function isOf({ projectId, user, agentId }: MemoryOwner): Sql {
  return sql`project_id = ${projectId} AND end_user IS NOT DISTINCT FROM ${user}::text
    AND agent_id IS NOT DISTINCT FROM ${agentId}::text`;
}

export async function findMemory(db: Db, projectId: string, id: string): Promise<Memory | null> {
  const [memory] = await runSql<Memory>(
    db,
    sql`SELECT ${MEMORY_COLUMNS} FROM memories WHERE id = ${id} AND project_id = ${projectId}`,
  );
  return memory ?? null;
}

/** The id of the memory of an owner; null as long as nothing was written. */
export async function findMemoryOf(db: Db, owner: MemoryOwner): Promise<string | null> {
  const [memory] = await runSql<{ id: string }>(db, sql`SELECT id FROM memories WHERE ${isOf(owner)}`);
  return memory?.id ?? null;
}

/** Locks the memory of an owner until the transaction ends; null if there is none. The lock comes after that of an open turn. */
export async function lockMemoryOf(tx: Tx, owner: MemoryOwner): Promise<Memory | null> {
  const [memory] = await runSql<Memory>(
    tx,
    sql`SELECT ${MEMORY_COLUMNS} FROM memories WHERE ${isOf(owner)} FOR NO KEY UPDATE`,
  );
  return memory ?? null;
}

/** The same by its id. */
export async function lockMemory(tx: Tx, id: string): Promise<Memory | null> {
  const [memory] = await runSql<Memory>(
    tx,
    sql`SELECT ${MEMORY_COLUMNS} FROM memories WHERE id = ${id} FOR NO KEY UPDATE`,
  );
  return memory ?? null;
}

/** Makes the memory of an owner, which is locked then; null if another transaction was first. */
export async function insertMemory(tx: Tx, { projectId, user, agentId }: MemoryOwner): Promise<Memory | null> {
  const [memory] = await runSql<Memory>(
    tx,
    sql`INSERT INTO memories (id, project_id, end_user, agent_id)
        VALUES (${newId('memory')}, ${projectId}, ${user}, ${agentId})
        ON CONFLICT ON CONSTRAINT memories_owner DO NOTHING RETURNING ${MEMORY_COLUMNS}`,
  );
  return memory ?? null;
}

/** The memory of an owner, made when it is missing. */
export async function putMemory(tx: Tx, owner: MemoryOwner): Promise<Memory> {
  for (;;) {
    const memory = (await lockMemoryOf(tx, owner)) ?? (await insertMemory(tx, owner));
    if (memory !== null) return memory;
  }
}

/**
 * The files of a memory, and the text of one of them.
 * @param id null for a memory that is not there yet
 * @returns `text` is null if there is no file at `path`
 */
export async function readFiles(
  db: Db,
  id: string | null,
  path: string | null,
): Promise<{ files: MemoryFiles; text: string | null }> {
  const rows =
    id === null
      ? []
      : await runSql<{ path: string; size_bytes: number; text: string | null }>(
          db,
          sql`SELECT path, size_bytes, CASE WHEN path = ${path}::text THEN text END AS text
              FROM memory_files WHERE memory_id = ${id}`,
        );
  return {
    files: new Map(rows.map((row) => [row.path, row.size_bytes])),
    text: rows.find((row) => row.path === path)?.text ?? null,
  };
}

/**
 * Changes the files of a locked memory: its next version. The text that a file had goes to the version that gave it. Returns the
 * number of the new version.
 * @param files as they are before
 * @param maxStorageBytes of the project, for a change after which the memory takes more; 0 for no limit
 * @throws ServiceError `storage_limit_reached`
 */
export async function storeChanges(
  tx: Tx,
  memory: Memory,
  files: MemoryFiles,
  changes: readonly FileChange[],
  by: ChangedBy,
  maxStorageBytes: number,
): Promise<number> {
  const { id, version: before } = memory;
  const version = before + 1;
  const author = [by.session_id, by.turn_id, by.key_id];
  const pathsOf = (...kinds: FileChange['kind'][]): string[] =>
    changes.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path);
  const renamed = changes.flatMap((change) => (change.kind === 'renamed' ? [change] : []));
  const texts = changes.flatMap((change) => ('text' in change ? [change] : []));

  const [kept] = await tx.query<[{ bytes: number }]>(KEEP_TEXTS, [id, pathsOf('modified', 'deleted', 'renamed')]);
  const gone = pathsOf('deleted', 'renamed');
  if (gone.length > 0) write(tx, NOTE_DELETED, [id, version, gone, ...author]);
  write(tx, DELETE_FILES, [id, pathsOf('deleted')]);
  if (renamed.length > 0) {
    const [from, to] = [renamed.map(({ path }) => path), renamed.map((change) => change.to)];
    write(tx, RENAME_FILES, [id, version, from, to, ...author]);
  }
  for (const { path, text } of texts) {
    const bytes = Buffer.from(text);
    write(tx, PUT_FILE, [id, version, path, text, bytes.length, sha256Of(bytes), ...author]);
  }
  const made = [
    ...texts.map(({ path, kind }) => ({ path, kind })),
    ...renamed.map(({ to }) => ({ path: to, kind: 'created' })),
  ];
  write(tx, NOTE_MADE, [id, version, made.map(({ path }) => path), made.map(({ kind }) => kind), ...author]);

  const after = sizesAfter(files, changes);
  const bytes = [...after.values()].reduce((sum, size) => sum + size, 0);
  const [counted] = await tx.query<[{ version_count: number; version_bytes: number }]>(COUNT, [
    ...[id, version, after.size, bytes, gone.length + made.length, kept.bytes],
  ]);
  const isOver = counted.version_count > MAX_VERSIONS || counted.version_bytes > MAX_VERSION_BYTES;
  const pruned = isOver ? await prune(tx, id) : 0;
  if (bytes - memory.size_bytes + kept.bytes - pruned > 0) await requireStorage(tx, memory.project_id, maxStorageBytes);
  return version;
}

export function sha256Of(text: Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}

function sizesAfter(files: MemoryFiles, changes: readonly FileChange[]): Map<string, number> {
  const after = new Map(files);
  for (const change of changes) {
    if (change.kind === 'renamed') after.set(change.to, files.get(change.path)!);
    if ('text' in change) after.set(change.path, Buffer.byteLength(change.text));
    else after.delete(change.path);
  }
  return after;
}

const KEEP_TEXTS = `
  WITH kept AS (
    UPDATE memory_versions v SET text = f.text FROM memory_files f
    WHERE f.memory_id = $1 AND f.path = ANY($2) AND v.memory_id = f.memory_id AND v.version = f.version AND v.path = f.path
    RETURNING v.size_bytes)
  SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes FROM kept`;
const NOTE_DELETED = `
  INSERT INTO memory_versions (memory_id, version, path, change, created_version, session_id, turn_id, key_id)
  SELECT memory_id, $2, path, 'deleted', created_version, $4, $5, $6 FROM memory_files
  WHERE memory_id = $1 AND path = ANY($3)`;
const DELETE_FILES = 'DELETE FROM memory_files WHERE memory_id = $1 AND path = ANY($2)';
const RENAME_FILES = `
  UPDATE memory_files f SET path = renamed.new, version = $2, session_id = $5, turn_id = $6, key_id = $7,
    updated_at = clock_timestamp()
  FROM unnest($3::text[], $4::text[]) AS renamed (old, new) WHERE f.memory_id = $1 AND f.path = renamed.old`;
const PUT_FILE = `
  INSERT INTO memory_files (memory_id, version, created_version, path, text, size_bytes, sha256, session_id, turn_id, key_id)
  VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (memory_id, path) DO UPDATE SET version = excluded.version, text = excluded.text,
    size_bytes = excluded.size_bytes, sha256 = excluded.sha256, session_id = excluded.session_id,
    turn_id = excluded.turn_id, key_id = excluded.key_id, updated_at = excluded.updated_at`;
const NOTE_MADE = `
  INSERT INTO memory_versions (memory_id, version, path, change, size_bytes, sha256, created_version, session_id, turn_id, key_id)
  SELECT memory_id, $2, path, made.kind, size_bytes, sha256, created_version, $5, $6, $7
  FROM memory_files JOIN unnest($3::text[], $4::text[]) AS made (path, kind) USING (path) WHERE memory_id = $1`;
const COUNT = `
  WITH changed AS (
    UPDATE memories SET version = $2, file_count = $3, size_bytes = $4, version_count = version_count + $5,
      version_bytes = version_bytes + $6::bigint, updated_at = clock_timestamp()
    WHERE id = $1 RETURNING version_count, version_bytes)
  SELECT version_count, version_bytes FROM changed`;

/** SQL for the bytes of the text of a version that is no file's present text. */
const OWN_BYTES = 'CASE WHEN text IS NULL THEN 0 ELSE size_bytes END';

/** Forgets the oldest versions of a locked memory that has more than it may have. Returns their bytes. */
async function prune(tx: Tx, id: string): Promise<number> {
  const [row] = await tx.query<[{ bytes: number }]>(
    `WITH placed AS (
       SELECT version, path, row_number() OVER newest AS place, sum(${OWN_BYTES}) OVER newest AS bytes
       FROM memory_versions WHERE memory_id = $1
       WINDOW newest AS (ORDER BY version DESC, path DESC ROWS UNBOUNDED PRECEDING)),
     gone AS (
       DELETE FROM memory_versions v USING placed p
       WHERE v.memory_id = $1 AND v.version = p.version AND v.path = p.path
         AND (p.place > ${MAX_VERSIONS} OR p.bytes > ${MAX_VERSION_BYTES})
       RETURNING CASE WHEN v.text IS NULL THEN 0 ELSE v.size_bytes END AS bytes),
     sums AS (SELECT count(*) AS count, coalesce(sum(bytes), 0)::bigint AS bytes FROM gone),
     counted AS (
       UPDATE memories SET version_count = version_count - count, version_bytes = version_bytes - bytes
       FROM sums WHERE id = $1)
     SELECT bytes FROM sums`,
    [id],
  );
  return row.bytes;
}

/**
 * Erases a file of a locked memory, or a folder with all in it, for good: with the versions of these paths, and with those that these
 * files had under other paths. False if the memory knows nothing there.
 */
export async function eraseFiles(tx: Tx, memory: Memory, path: string): Promise<boolean> {
  const isBelow = sql`(path = ${path} OR starts_with(path, ${prefixOf(path)}))`;
  const [row] = await runSql<{ files: number; versions: number }>(
    tx,
    sql`WITH files AS (
          DELETE FROM memory_files WHERE memory_id = ${memory.id} AND ${isBelow} RETURNING created_version, size_bytes),
        erased AS (
          SELECT created_version FROM files
          UNION SELECT created_version FROM memory_versions v WHERE memory_id = ${memory.id} AND ${isBelow}
            AND NOT EXISTS (
              SELECT FROM memory_files f WHERE f.memory_id = v.memory_id AND f.created_version = v.created_version)),
        versions AS (
          DELETE FROM memory_versions WHERE memory_id = ${memory.id}
            AND (${isBelow} OR created_version IN (SELECT created_version FROM erased))
          RETURNING ${rawSql(OWN_BYTES)} AS bytes),
        sums AS (
          SELECT (SELECT count(*) FROM files)::integer AS files, count(*)::integer AS versions,
            (SELECT coalesce(sum(size_bytes), 0) FROM files)::bigint AS size_bytes,
            coalesce(sum(bytes), 0)::bigint AS version_bytes
          FROM versions),
        changed AS (
          UPDATE memories m SET version = version + 1, file_count = file_count - files,
            size_bytes = m.size_bytes - sums.size_bytes, version_count = version_count - versions,
            version_bytes = m.version_bytes - sums.version_bytes, updated_at = clock_timestamp()
          FROM sums WHERE m.id = ${memory.id} AND (files > 0 OR versions > 0))
        SELECT files, versions FROM sums`,
  );
  // Their paths may be answers of requests, too.
  await runSql(
    tx,
    sql`UPDATE idempotency_records SET response = NULL WHERE resource_id = ${memory.id} AND response IS NOT NULL
        AND (response->>'path' = ${path} OR starts_with(response->>'path', ${prefixOf(path)}))`,
  );
  return row!.files > 0 || row!.versions > 0;
}

/** Deletes memories with their files and versions, and the recorded answers about them. Returns their ids. */
export async function deleteMemories(
  tx: Tx,
  projectId: string,
  which: { id: string } | { user: string; limit?: number },
): Promise<string[]> {
  const condition =
    'id' in which
      ? sql`id = ${which.id}`
      : sql`end_user = ${which.user} ORDER BY id LIMIT ${which.limit ?? null}::bigint`;
  const rows = await runSql<{ id: string }>(
    tx,
    sql`WITH locked AS (SELECT id FROM memories WHERE project_id = ${projectId} AND ${condition} FOR UPDATE),
          deleted AS (DELETE FROM memories USING locked WHERE memories.id = locked.id RETURNING memories.id),
          answers AS (UPDATE idempotency_records SET response = NULL FROM locked WHERE resource_id = locked.id)
        SELECT id FROM deleted`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Forgets versions older than `days`, of at most `limit` rows. The present texts of files stay.
 * @returns how many it forgot
 */
export async function forgetOldVersions(tx: Tx, days: number, limit: number): Promise<number> {
  const isOld = sql`created_at < statement_timestamp() - ${days} * interval '1 day'`;
  // Memories before their versions, as every change locks them.
  const locked = await runSql<{ id: string }>(
    tx,
    sql`SELECT id FROM memories WHERE id IN (
          SELECT memory_id FROM (SELECT memory_id FROM memory_versions WHERE ${isOld} ORDER BY created_at LIMIT ${limit}) AS old)
        ORDER BY id FOR NO KEY UPDATE`,
  );
  const [row] = await runSql<{ count: number }>(
    tx,
    sql`WITH old AS MATERIALIZED (
          SELECT memory_id, version, path FROM memory_versions
          WHERE memory_id = ANY(${locked.map(({ id }) => id)}::text[]) AND ${isOld} ORDER BY created_at LIMIT ${limit}),
        gone AS (
          DELETE FROM memory_versions v USING old
          WHERE v.memory_id = old.memory_id AND v.version = old.version AND v.path = old.path
          RETURNING v.memory_id, CASE WHEN v.text IS NULL THEN 0 ELSE v.size_bytes END AS bytes),
        sums AS (SELECT memory_id, count(*)::integer AS count, sum(bytes) AS bytes FROM gone GROUP BY memory_id),
        counted AS (
          UPDATE memories m SET version_count = version_count - sums.count, version_bytes = version_bytes - sums.bytes
          FROM sums WHERE m.id = sums.memory_id)
        SELECT count(*)::integer AS count FROM gone`,
  );
  return row!.count;
}

/** The memories of a project, newest first. */
export function listMemories(
  db: Db,
  projectId: string,
  { user, agent_id }: { user?: string | undefined; agent_id?: string | undefined },
  { limit, after }: PageRequest,
): Promise<PageRows<Memory>> {
  return readPage<Memory>(db, {
    query: `SELECT id, project_id, end_user, agent_id, version, file_count, size_bytes, created_at, updated_at FROM memories
      WHERE project_id = $1 AND ($2::text IS NULL OR end_user = $2) AND ($3::text IS NULL OR agent_id = $3)
        AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5))
      ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    values: [projectId, user ?? null, agent_id ?? null, after?.[0] ?? null, after?.[1] ?? null],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** Memories of a user that are deleted in one transaction: each may have a thousand files and versions. */
const DELETED_AT_ONCE = 10;

/**
 * Deletes all memories of a user that are there now, in bounded transactions. Returns how many.
 * @param atEnd runs in the last transaction
 */
export async function deleteMemoriesOfUser(
  db: Database,
  projectId: string,
  user: string,
  atEnd: (tx: Tx) => Promise<void>,
): Promise<number> {
  for (let sum = 0; ;) {
    const deleted = await transaction(db, async (tx) => {
      const ids = await deleteMemories(tx, projectId, { user, limit: DELETED_AT_ONCE });
      if (ids.length < DELETED_AT_ONCE) await atEnd(tx);
      return ids.length;
    });
    sum += deleted;
    if (deleted < DELETED_AT_ONCE) return sum;
  }
}
