import type { Db, Tx } from '../db/db.js';
import type { ApiKeyRow } from '../db/entities/projects.js';
import { readPage } from '../db/read-page.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { missingGroups, requireGroups } from './approver-groups.js';
import { hashOf, newSecret } from './key-secret.js';
import { requireScope, type Scope } from './permissions.js';
import { unauthenticated } from './unauthenticated.js';

const MAX_USABLE_KEYS = 1000;

/** SQL that is true for a key that can be used: neither revoked nor expired. */
export const LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())';

const COLUMNS = 'id, name, scopes, approver_groups, created_by, created_at, expires_at, revoked_at, last_used_at';

/** A key as clients see it: without its secret, of which the table has a hash. */
export type ProjectKey = Omit<ApiKeyRow, 'project_id' | 'key_hash'>;

/** Who changes keys: the key of the request. */
interface Changer {
  projectId: string;
  keyId: string;
}

export async function findKey(db: Db, projectId: string, id: string): Promise<ProjectKey | null> {
  const [key] = await runSql<ProjectKey>(
    db,
    sql`SELECT ${rawSql(COLUMNS)} FROM api_keys WHERE id = ${id} AND project_id = ${projectId}`,
  );
  return key ?? null;
}

/** A page of the keys of a project, newest first, revoked and expired ones too. */
export function listKeysOf(db: Db, projectId: string, { limit, after }: PageRequest): Promise<PageRows<ProjectKey>> {
  return readPage<ProjectKey>(db, {
    query: `SELECT ${COLUMNS} FROM api_keys WHERE project_id = $1
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [projectId, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

interface NewProjectKey {
  name: string;
  scopes: readonly Scope[];
  approver_groups: readonly string[];
  /** In the service's format; undefined: as the key that makes it. */
  expires_at: string | undefined;
}

/**
 * Makes a key with another one, which is locked meanwhile: the new key has at most what that one has now.
 * @returns the key, and its secret, which is stored nowhere
 * @throws ServiceError `authentication_error` if the caller's key is not valid any more, `insufficient_scope`, `not_an_approver`,
 * `validation_error` at `/expires_at`, `key_limit_reached`
 */
export async function makeKey(
  tx: Tx,
  changer: Changer,
  { name, scopes, approver_groups, expires_at }: NewProjectKey,
): Promise<{ row: ProjectKey; key: string }> {
  const { caller } = await lockKeys(tx, changer);
  const held = new Set(caller.scopes);
  for (const scope of scopes) requireScope({ scopes: held }, scope);
  requireGroups(new Set(caller.approver_groups), approver_groups);
  if (expires_at !== undefined) requireWithin(expires_at, caller);
  await requireRoomForKey(tx, changer.projectId);
  const key = newSecret();
  const [row] = await runSql<ProjectKey>(
    tx,
    sql`INSERT INTO api_keys (id, project_id, name, key_hash, scopes, approver_groups, created_by, expires_at)
        VALUES (${newId('apiKey')}, ${changer.projectId}, ${name}, ${hashOf(key)}, ${scopes}, ${approver_groups},
          ${changer.keyId}, ${expires_at ?? caller.expires_at})
        RETURNING ${rawSql(COLUMNS)}`,
  );
  return { row: row!, key };
}

/** @throws ServiceError `validation_error` for a time that is past, or after the end of the key that makes the other */
function requireWithin(expiresAt: string, caller: LockedKey): void {
  if (expiresAt <= caller.now) throw validationError('/expires_at', 'must be in the future');
  if (caller.expires_at !== null && expiresAt > caller.expires_at)
    throw validationError('/expires_at', `must not be after the end of your own key, ${caller.expires_at}`);
}

interface KeyChange {
  name?: string;
  approver_groups?: readonly string[];
}

/**
 * Changes a key. Groups that it does not have yet are those of the caller's key at most; taking groups away needs nothing.
 * @throws ServiceError `authentication_error`, `key_not_found`, `not_an_approver`
 */
export async function changeKey(tx: Tx, changer: Changer, id: string, change: KeyChange): Promise<ProjectKey> {
  const { caller, other } = await lockKeys(tx, changer, id);
  if (other === undefined) keyNotFound();
  const { name = other.name, approver_groups = other.approver_groups } = change;
  const added = missingGroups(new Set(other.approver_groups), approver_groups);
  requireGroups(new Set(caller.approver_groups), added);
  const [row] = await runSql<ProjectKey>(
    tx,
    sql`WITH changed AS (
          UPDATE api_keys SET name = ${name}, approver_groups = ${approver_groups} WHERE id = ${id} RETURNING *)
        SELECT ${rawSql(COLUMNS)} FROM changed`,
  );
  return row!;
}

/**
 * Revokes a key of the caller's project for good. A second call changes nothing.
 * @throws ServiceError `authentication_error`, `key_not_found`
 */
export async function revokeKeyAs(tx: Tx, changer: Changer, id: string, withDescendants: boolean): Promise<void> {
  const { other } = await lockKeys(tx, changer, id);
  if (other === undefined) keyNotFound();
  await revoke(tx, id, withDescendants);
}

const REVOKE = 'UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = ANY($1) AND revoked_at IS NULL';

/** Revokes a key that is locked; with its descendants: the keys that it made, and theirs. */
export async function revoke(tx: Tx, id: string, withDescendants: boolean): Promise<void> {
  await tx.query(REVOKE, [withDescendants ? await lockDescendants(tx, id) : [id]]);
}

/**
 * Locks a key and its descendants until the transaction ends. A descendant that makes a key at this moment is waited for, and
 * the key that it made is found by the next look.
 */
async function lockDescendants(tx: Tx, id: string): Promise<string[]> {
  let locked: string[] = [];
  for (;;) {
    const found = await runSql<{ id: string }>(
      tx,
      sql`WITH RECURSIVE family AS (
            SELECT id FROM api_keys WHERE id = ${id}
            UNION ALL SELECT k.id FROM family JOIN api_keys k ON k.created_by = family.id)
          SELECT id FROM family ORDER BY id`,
    );
    if (found.length === locked.length) return locked;
    locked = found.map((key) => key.id);
    await runSql(tx, sql`SELECT FROM api_keys WHERE id = ANY(${locked}::text[]) ORDER BY id FOR NO KEY UPDATE`);
  }
}

interface LockedKey extends Pick<ProjectKey, 'id' | 'name' | 'scopes' | 'approver_groups' | 'expires_at'> {
  live: boolean;
  now: string;
}

/**
 * Locks the caller's key, and the one that it changes, until the transaction ends: a revocation comes before or after. What it
 * waited for is read anew.
 * @throws ServiceError `authentication_error` if the caller's key was revoked or has expired
 */
async function lockKeys(
  tx: Tx,
  { projectId, keyId }: Changer,
  otherId: string = keyId,
): Promise<{ caller: LockedKey; other: LockedKey | undefined }> {
  const rows = await runSql<LockedKey>(
    tx,
    sql`SELECT id, name, scopes, approver_groups, expires_at, ${rawSql(LIVE)} AS live, clock_timestamp() AS now
        FROM api_keys WHERE project_id = ${projectId} AND id = ANY(${[keyId, otherId]}::text[])
        ORDER BY id FOR NO KEY UPDATE`,
  );
  const caller = rows.find(({ id }) => id === keyId);
  if (caller?.live !== true) throw unauthenticated();
  return { caller, other: rows.find(({ id }) => id === otherId) };
}

/** @throws ServiceError `key_limit_reached`. The lock of the project's row makes that exact. */
export async function requireRoomForKey(tx: Tx, projectId: string): Promise<void> {
  await runSql(tx, sql`SELECT FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`);
  const [counted] = await runSql<{ count: number }>(
    tx,
    sql`SELECT count(*)::integer AS count FROM api_keys WHERE project_id = ${projectId} AND ${rawSql(LIVE)}`,
  );
  if (counted!.count < MAX_USABLE_KEYS) return;
  throw new ServiceError(
    'key_limit_reached',
    `The project has ${MAX_USABLE_KEYS} keys that can be used, its limit. Revoke one before you make another.`,
  );
}

export function keyNotFound(): never {
  throw new ServiceError('key_not_found', 'There is no such key.');
}
