import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { newStorageKey, ObjectMissingError, type Storage } from '../files/storage.js';
import {
  decodeManifest,
  EMPTY_MANIFEST,
  encodeManifest,
  sizeOfTree,
  type Manifest,
  type TreeSize,
} from './manifest.js';

/** The newest version of a session's workspace, as its row has it. */
export interface Workspace {
  version: number;
  /** Null while nothing was kept. */
  manifestKey: string | null;
  cwd: string;
}

const MANIFEST_TYPE = 'application/gzip';

/** Null without the session; `workspace` is null in a session without one. */
export async function findSessionWorkspace(
  db: Db,
  projectId: string,
  sessionId: string,
): Promise<{ workspace: Workspace | null } | null> {
  const [row] = await runSql<{ workspace: Workspace | null }>(
    db,
    sql`SELECT (
          SELECT json_build_object('version', version, 'manifestKey', objects[1], 'cwd', cwd)
          FROM workspaces WHERE session_id = sessions.id) AS workspace
        FROM sessions WHERE project_id = ${projectId} AND id = ${sessionId} AND deleted_at IS NULL`,
  );
  return row ?? null;
}

/** @throws ObjectMissingError, also if the object is damaged; ServiceError `storage_error` */
export async function readManifest(storage: Storage, key: string | null): Promise<Manifest> {
  if (key === null) return EMPTY_MANIFEST;
  const bytes = await storage.read(key, Number.MAX_SAFE_INTEGER);
  return decodeManifest(bytes).catch((cause: unknown) => {
    throw new ObjectMissingError(key, `the object ${key} is damaged: it is no manifest`, { cause });
  });
}

interface StoredManifest {
  manifestKey: string;
  manifestBytes: number;
  size: TreeSize;
}

/** Stores a manifest under a key of its own: a late writer never replaces another one's. */
export async function storeManifest(storage: Storage, sessionId: string, manifest: Manifest): Promise<StoredManifest> {
  const manifestKey = newStorageKey('workspaces', sessionId);
  const bytes = await encodeManifest(manifest);
  await storage.put(manifestKey, bytes, { contentType: MANIFEST_TYPE, size: bytes.length });
  return { manifestKey, manifestBytes: bytes.length, size: await sizeOfTree(manifest.entries) };
}

/** A change of a workspace, whose objects are stored. */
export interface WorkspaceChange {
  sessionId: string;
  /** Of the turn that makes it. */
  turnNumber: number;
  /** What the change began with. */
  base: Workspace;
  cwd: string;
  /** Null if only the working directory changes. */
  next: (StoredManifest & { manifest: Manifest; changesTree: boolean }) | null;
}

const COMMIT_VERSION = `
  UPDATE workspaces SET turn_number = $4, cwd = $5, version = version + $6, objects = coalesce($7, objects),
    object_bytes = coalesce($8, object_bytes), size_bytes = coalesce($9, size_bytes), file_count = coalesce($10, file_count),
    is_counted = is_counted OR $7 IS NOT NULL, updated_at = CASE WHEN $6 > 0 THEN clock_timestamp() ELSE updated_at END
  WHERE session_id = $1 AND version = $2 AND objects[1] IS NOT DISTINCT FROM $3`;

/**
 * Makes a change the newest version, in the transaction that stores the result of its call. Returns false, and changes nothing,
 * if the newest version is not the one that the call began with. The database keeps the version of an earlier turn that is
 * replaced (table `kept_workspaces`).
 */
export async function commitVersion(
  tx: Tx,
  { sessionId, turnNumber, base, cwd, next }: WorkspaceChange,
): Promise<boolean> {
  const grows = next?.changesTree === true ? 1 : 0;
  const objects = next && [next.manifestKey, ...next.manifest.packs.map(({ key }) => key)];
  const objectBytes = next && [next.manifestBytes, ...next.manifest.packs.map(({ size }) => size)];
  const { sizeBytes = null, fileCount = null } = next?.size ?? {};
  const tree = [cwd, grows, objects, objectBytes, sizeBytes, fileCount];
  const values = [sessionId, base.version, base.manifestKey, turnNumber, ...tree];
  const [, count] = await tx.query<[unknown, number]>(COMMIT_VERSION, values);
  return count > 0;
}

/**
 * Forgets the versions of earlier turns if the project has more than `maxBytes`: they never cost a session its next command.
 * @param maxBytes 0 for no limit
 */
export async function forgetKeptIfFull(
  tx: Tx,
  { sessionId, projectId }: { sessionId: string; projectId: string },
  maxBytes: number,
): Promise<void> {
  if (maxBytes === 0) return;
  await runSql(
    tx,
    sql`DELETE FROM kept_workspaces WHERE session_id = ${sessionId}
          AND (SELECT bytes FROM project_storage WHERE project_id = ${projectId}) > ${maxBytes}::bigint`,
  );
}
