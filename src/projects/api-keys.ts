import { createHash, randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { transaction, type Db } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import { SCOPES, type Scope } from './permissions.js';

/** What a request may do and on whose behalf. */
export interface LiveKey {
  keyId: string;
  projectId: string;
  scopes: ReadonlySet<string>;
  expiresAt: string | null;
}

/** A key as `keys -- list` shows it. */
export interface ListedKey {
  id: string;
  project: string;
  scopes: string[];
  created_at: string;
  revoked_at: string | null;
  expires_at: string | null;
  live: boolean;
}

export interface NewKey {
  project: string;
  scopes?: readonly Scope[];
  /** Absent: the project's limit stays as it is, a new project has the default. */
  maxRunningTurns?: number;
}

/**
 * Issues a key for a project, which is made at its first key; on an existing project the limit is updated
 * (contract.md §5). The key is returned this once: only its hash is kept.
 */
export async function createKey(
  db: DataSource,
  { project, scopes = SCOPES, maxRunningTurns }: NewKey,
): Promise<{ id: string; projectId: string; key: string }> {
  const key = `ask_${randomBytes(32).toString('base64url')}`;
  const id = newId('apiKey');
  return transaction(db, async (tx) => {
    // The update that changes nothing makes RETURNING give the row that is there.
    const [row] = await tx.query<{ id: string }[]>(
      `INSERT INTO projects (id, name, max_running_turns) VALUES ($1, $2, coalesce($3::integer, 100))
       ON CONFLICT (name) DO UPDATE SET max_running_turns = coalesce($3::integer, projects.max_running_turns)
       RETURNING id`,
      [newId('project'), project, maxRunningTurns ?? null],
    );
    const projectId = row!.id;
    await tx.query('INSERT INTO api_keys (id, project_id, key_hash, scopes) VALUES ($1, $2, $3, $4)', [
      id,
      projectId,
      hashOf(key),
      [...scopes],
    ]);
    return { id, projectId, key };
  });
}

/** Every key ever issued, newest first. */
export async function listKeys(db: Db): Promise<ListedKey[]> {
  return db.query<ListedKey[]>(
    `SELECT k.id, p.name AS project, k.scopes, k.created_at, k.revoked_at, k.expires_at, ${LIVE} AS live
     FROM api_keys k JOIN projects p ON p.id = k.project_id
     ORDER BY k.created_at DESC, k.id DESC`,
  );
}

/** Revokes a key, for good; revoking it again keeps the first time. False when there is no such key. */
export async function revokeKey(db: Db, id: string): Promise<boolean> {
  const [, count] = await db.query<[unknown[], number]>(
    'UPDATE api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = $1',
    [id],
  );
  return count > 0;
}

/** Sets when a key stops working, null: never. False when there is no such key. */
export async function expireKey(db: Db, id: string, at: Date | null): Promise<boolean> {
  const [, count] = await db.query<[unknown[], number]>('UPDATE api_keys SET expires_at = $2 WHERE id = $1', [id, at]);
  return count > 0;
}

/** A project as `keys -- projects` shows it. */
export interface ListedProject {
  id: string;
  name: string;
  max_running_turns: number;
  open_turns: number;
  live_keys: number;
  created_at: string;
}

/** Every project, by name. */
export async function listProjects(db: Db): Promise<ListedProject[]> {
  return db.query<ListedProject[]>(
    `SELECT id, name, max_running_turns, created_at,
       (SELECT count(*) FROM turns WHERE project_id = projects.id AND state IN ('queued', 'running'))::integer AS open_turns,
       (SELECT count(*) FROM api_keys WHERE project_id = projects.id AND ${LIVE})::integer AS live_keys
     FROM projects ORDER BY name`,
  );
}

/** Sets how many turns of a project may be queued or running. False when there is no such project. */
export async function limitProject(db: Db, name: string, maxRunningTurns: number): Promise<boolean> {
  const [, count] = await db.query<[unknown[], number]>('UPDATE projects SET max_running_turns = $2 WHERE name = $1', [
    name,
    maxRunningTurns,
  ]);
  return count > 0;
}

const LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())';

/** The key that hashes to `hash`, unless it is revoked or expired. */
export async function findLiveKey(db: Db, hash: Buffer): Promise<LiveKey | null> {
  const [row] = await db.query<{ id: string; project_id: string; scopes: string[]; expires_at: string | null }[]>(
    `SELECT id, project_id, scopes, expires_at FROM api_keys WHERE key_hash = $1 AND ${LIVE}`,
    [hash],
  );
  if (row === undefined) return null;
  return { keyId: row.id, projectId: row.project_id, scopes: new Set(row.scopes), expiresAt: row.expires_at };
}

/** Which of the keys may still be used: open streams of the others are closed (contract.md §5, `keys -- revoke`). */
export async function liveKeyIds(db: Db, ids: string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }[]>(`SELECT id FROM api_keys WHERE id = ANY($1) AND ${LIVE}`, [ids]);
  return new Set(rows.map((row) => row.id));
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
