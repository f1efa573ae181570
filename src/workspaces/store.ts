import type { EntityManager } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { newStorageKey, type Storage } from '../files/storage.js';
import { WORKSPACE } from './layout.js';
import { decodeManifest, EMPTY_MANIFEST, encodeManifest, sizeOf, type Manifest } from './manifest.js';

/** The newest version of a session's workspace, as its row has it. */
export interface Workspace {
  version: number;
  /** Null while nothing was kept. */
  manifestKey: string | null;
  cwd: string;
}

/** Before the first change. */
export const NEW_WORKSPACE: Workspace = { version: 0, manifestKey: null, cwd: WORKSPACE };

const MANIFEST_TYPE = 'application/gzip';

export async function findWorkspace(db: Db, sessionId: string): Promise<Workspace> {
  const [row] = await runSql<Workspace>(
    db,
    sql`SELECT version, objects[1] AS "manifestKey", cwd FROM workspaces WHERE session_id = ${sessionId}`,
  );
  return row ?? NEW_WORKSPACE;
}

/**
 * The workspace of a session as clients may read it. Null without the session; `workspace` is null in a session without one.
 */
export async function findSessionWorkspace(
  db: Db,
  projectId: string,
  sessionId: string,
): Promise<{ workspace: Workspace | null } | null> {
  const [row] = await runSql<Partial<Workspace> & { hasRow: boolean; hasWorkspace: boolean }>(
    db,
    sql`SELECT w.version, w.objects[1] AS "manifestKey", w.cwd, w.session_id IS NOT NULL AS "hasRow",
          CASE WHEN w.session_id IS NOT NULL THEN true
            ELSE EXISTS (SELECT FROM json_array_elements(s.tools) AS entry WHERE entry->>'type' = 'workspace')
          END AS "hasWorkspace"
        FROM sessions s LEFT JOIN workspaces w ON w.session_id = s.id
        WHERE s.project_id = ${projectId} AND s.id = ${sessionId} AND s.deleted_at IS NULL`,
  );
  if (row === undefined) return null;
  const { hasRow, hasWorkspace, version, manifestKey, cwd } = row;
  if (!hasWorkspace) return { workspace: null };
  return { workspace: hasRow ? { version: version!, manifestKey: manifestKey!, cwd: cwd! } : NEW_WORKSPACE };
}

/** @throws ObjectMissingError, ServiceError `storage_error` */
export async function readManifest(storage: Storage, key: string | null): Promise<Manifest> {
  if (key === null) return EMPTY_MANIFEST;
  return decodeManifest(await storage.read(key, Number.MAX_SAFE_INTEGER));
}

/** Stores a manifest under a key of its own: a late writer never replaces another one's. */
export async function storeManifest(storage: Storage, sessionId: string, manifest: Manifest): Promise<string> {
  const key = newStorageKey('workspaces', sessionId);
  const bytes = await encodeManifest(manifest);
  await storage.put(key, bytes, { contentType: MANIFEST_TYPE, size: bytes.length });
  return key;
}

/** A change of a workspace, whose objects are stored. */
export interface WorkspaceChange {
  sessionId: string;
  projectId: string;
  base: Workspace;
  cwd: string;
  /** Null if only the working directory changes. */
  next: { manifestKey: string; manifest: Manifest; changesTree: boolean } | null;
}

/**
 * Makes a change the newest version, in the transaction that stores the result of its call. Returns false, and changes nothing,
 * if the newest version is not the one that the call began with.
 */
export async function commitVersion(
  tx: EntityManager,
  { sessionId, projectId, base, cwd, next }: WorkspaceChange,
): Promise<boolean> {
  const grows = next?.changesTree === true;
  const version = base.version + (grows ? 1 : 0);
  const objects = next === null ? null : [next.manifestKey, ...next.manifest.packs.map(({ key }) => key)];
  const { sizeBytes, fileCount } = sizeOf(next?.manifest.entries ?? []);
  const isBase = sql`workspaces.version = ${base.version} AND workspaces.objects[1] IS NOT DISTINCT FROM ${base.manifestKey}::text`;
  const rows = await runSql(
    tx,
    base.manifestKey === null
      ? sql`INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count, updated_at)
          VALUES (${sessionId}, ${projectId}, ${version}, ${objects ?? []}::text[], ${cwd}, ${sizeBytes}, ${fileCount},
            CASE WHEN ${grows} THEN clock_timestamp() END)
          ON CONFLICT (session_id) DO UPDATE SET version = excluded.version, objects = excluded.objects, cwd = excluded.cwd,
            size_bytes = excluded.size_bytes, file_count = excluded.file_count, updated_at = excluded.updated_at
          WHERE ${isBase} RETURNING session_id`
      : next === null
        ? sql`WITH changed AS (
              UPDATE workspaces SET cwd = ${cwd} WHERE session_id = ${sessionId} AND ${isBase} RETURNING session_id)
            SELECT session_id FROM changed`
        : sql`WITH changed AS (
              UPDATE workspaces SET version = ${version}, objects = ${objects}::text[], cwd = ${cwd}, size_bytes = ${sizeBytes},
                file_count = ${fileCount}, updated_at = CASE WHEN ${grows} THEN clock_timestamp() ELSE updated_at END
              WHERE session_id = ${sessionId} AND ${isBase} RETURNING session_id)
            SELECT session_id FROM changed`,
  );
  return rows.length > 0;
}
