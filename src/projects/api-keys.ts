import { writeCommandEntry } from '../audit/write.js';
import type { Database, Db, Tx } from '../db/db.js';
import { ApiKeyEntity, ProjectEntity, type ProjectRow } from '../db/entities/projects.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import { ALL_SCOPES, type Scope } from './permissions.js';
import { hashOf, newSecret } from './key-secret.js';
import { LIVE, requireRoomForKey, revoke } from './keys-of-project.js';

const GOES_ON = "deleted_at IS NULL AND state <> 'ended'";

export interface LiveKey {
  keyId: string;
  projectId: string;
  scopes: ReadonlySet<string>;
  /** The groups in which it approves calls of tools. */
  approverGroups: ReadonlySet<string>;
  expiresAt: string | null;
  /** Requests a minute of each operation that the project has for itself: 0 for no limit, null for that of all projects. */
  ratePerMinute: number | null;
}

export interface ListedKey {
  id: string;
  project: string;
  name: string | null;
  scopes: string[];
  approver_groups: string[];
  /** The key that made it; null: the command did. */
  created_by: string | null;
  created_at: string;
  revoked_at: string | null;
  expires_at: string | null;
  /** The hour of its last use. */
  last_used_at: string | null;
  live: boolean;
  /** Schedules that it created and that have not ended: they go on without it. */
  schedules: number;
}

export interface NewKey {
  project: string;
  name?: string | undefined;
  /** If absent: every permission but that to make keys. */
  scopes?: readonly Scope[];
  approverGroups?: readonly string[];
  /** If absent, an existing project keeps its limit and a new one gets the default. */
  maxRunningTurns?: number | undefined;
  /** From now on; a fraction is fine. If absent, it does not expire. */
  expiresInDays?: number | undefined;
}

/**
 * Issues a key for a project. The first key creates the project; on an existing project the limit is updated
 * (decisions.md "Running it"). The key is shown only here: the table stores its hash.
 * @throws ServiceError `key_limit_reached`
 */
export async function createKey(
  db: Database,
  { project, name, scopes = ALL_SCOPES, approverGroups = [], maxRunningTurns, expiresInDays }: NewKey,
): Promise<{ id: string; projectId: string; isNewProject: boolean; key: string }> {
  const newProjectId = newId('project');
  const key = newSecret();
  const id = newId('apiKey');
  return transaction(db, async (tx) => {
    const limit = maxRunningTurns === undefined ? {} : { max_running_turns: maxRunningTurns };
    // This no-op update makes RETURNING give the existing row.
    const result = await tx
      .createQueryBuilder()
      .insert()
      .into(ProjectEntity)
      .values({ id: newProjectId, name: project, ...limit })
      .orUpdate(['name', ...Object.keys(limit)], ['name'])
      .returning('id')
      .execute();
    const projectId = (result.raw as [ProjectRow])[0].id;
    await requireRoomForKey(tx, projectId);
    await runSql(
      tx,
      sql`INSERT INTO api_keys (id, project_id, name, key_hash, scopes, approver_groups, expires_at)
          VALUES (${id}, ${projectId}, ${name ?? null}, ${hashOf(key)}, ${scopes}, ${approverGroups},
            clock_timestamp() + ${expiresInDays ?? null}::double precision * interval '1 day')`,
    );
    writeCommandEntry(tx, projectId, 'createKey', { type: 'key', id }, { scopes, approver_groups: approverGroups });
    return { id, projectId, isNewProject: projectId === newProjectId, key };
  });
}

export function listKeys(db: Db): Promise<ListedKey[]> {
  return runSql(
    db,
    sql`SELECT k.id, p.name AS project, k.name, k.scopes, k.approver_groups, k.created_by, k.created_at, k.revoked_at, k.expires_at, k.last_used_at,
          ${rawSql(LIVE)} AS live, coalesce(s.count, 0) AS schedules
        FROM api_keys k LEFT JOIN (
            SELECT key_id, count(*)::integer AS count FROM schedules WHERE ${rawSql(GOES_ON)} GROUP BY key_id) AS s
          ON s.key_id = k.id JOIN projects p ON p.id = k.project_id ORDER BY k.created_at DESC, k.id DESC`,
  );
}

/** What people call a key and its project, for the page that shows whose data it has. */
export async function namesOfKey(db: Db, id: string): Promise<{ project: string; key_name: string | null }> {
  const [names] = await runSql<{ project: string; key_name: string | null }>(
    db,
    sql`SELECT p.name AS project, k.name AS key_name FROM api_keys k JOIN projects p ON p.id = k.project_id WHERE k.id = ${id}`,
  );
  return names!;
}

interface KeySchedule {
  id: string;
  name: string | null;
  cron: string | null;
  at: string | null;
  state: string;
  next_run_at: string | null;
}

/** The schedules that a key created and that have not ended; null if the key does not exist. */
export async function schedulesOfKey(db: Db, id: string): Promise<KeySchedule[] | null> {
  const keys = await runSql(db, sql`SELECT FROM api_keys WHERE id = ${id}`);
  if (keys.length === 0) return null;
  return runSql(
    db,
    sql`SELECT id, name, cron, at, state, next_run_at FROM schedules
        WHERE key_id = ${id} AND ${rawSql(GOES_ON)} ORDER BY created_at, id`,
  );
}

/**
 * Revokes a key for good, with `withDescendants` also those that it made, and theirs. A second call keeps the first time. Returns false
 * if the key does not exist.
 */
export function revokeKey(db: Database, id: string, withDescendants = false): Promise<boolean> {
  return transaction(db, async (tx) => {
    const projectId = await lockKey(tx, id);
    if (projectId === null) return false;
    await revoke(tx, id, withDescendants);
    writeCommandEntry(tx, projectId, 'revokeKey', { type: 'key', id });
    return true;
  });
}

/** Sets the expiry of a key; null means never. Returns false if the key does not exist. */
export function expireKey(db: Database, id: string, at: Date | null): Promise<boolean> {
  return transaction(db, async (tx) => {
    const projectId = await lockKey(tx, id);
    if (projectId === null) return false;
    await tx.getRepository(ApiKeyEntity).update({ id }, { expires_at: at === null ? null : at.toISOString() });
    writeCommandEntry(tx, projectId, 'expireKey', { type: 'key', id });
    return true;
  });
}

/** Locks a key until the transaction ends. Returns its project; null if there is no such key. */
async function lockKey(tx: Tx, id: string): Promise<string | null> {
  const [key] = await runSql<{ project_id: string }>(
    tx,
    sql`SELECT project_id FROM api_keys WHERE id = ${id} FOR NO KEY UPDATE`,
  );
  return key?.project_id ?? null;
}

interface FoundKey {
  id: string;
  project_id: string;
  name: string;
  scopes: string[];
  approver_groups: string[];
  expires_at: string | null;
  rate_per_minute: number | null;
}

/** Finds the keys with these hashes, in base64, unless they are revoked or expired. */
export function findKeysByHash(db: Db, hashes: string[]): Promise<Map<string, LiveKey>> {
  const bytes = hashes.map((hash) => Buffer.from(hash, 'base64'));
  return findKeys(db, sql`encode(k.key_hash, 'base64')`, sql`k.key_hash = ANY(${bytes}::bytea[])`);
}

/** Finds the keys with these ids, unless they are revoked or expired. */
export function findKeysById(db: Db, ids: string[]): Promise<Map<string, LiveKey>> {
  return findKeys(db, sql`k.id`, sql`k.id = ANY(${ids}::text[])`);
}

/** The live keys that match, by the name under which they are looked up. */
async function findKeys(db: Db, name: Sql, matches: Sql): Promise<Map<string, LiveKey>> {
  const rows = await runSql<FoundKey>(
    db,
    sql`SELECT k.id, k.project_id, ${name} AS name, k.scopes, k.approver_groups, k.expires_at, p.rate_per_minute
        FROM api_keys k JOIN projects p ON p.id = k.project_id WHERE ${matches} AND ${rawSql(LIVE)}`,
  );
  return new Map(
    rows.map((row) => [
      row.name,
      {
        keyId: row.id,
        projectId: row.project_id,
        scopes: new Set(row.scopes),
        approverGroups: new Set(row.approver_groups),
        expiresAt: row.expires_at,
        ratePerMinute: row.rate_per_minute,
      },
    ]),
  );
}

/**
 * Returns which of the keys are still valid. Open streams of the others are closed (decisions.md "Running it", `keys -- revoke`).
 */
export async function liveKeyIds(db: Db, ids: string[]): Promise<Set<string>> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT id FROM api_keys WHERE id = ANY(${ids}::text[]) AND ${rawSql(LIVE)}`,
  );
  return new Set(rows.map(({ id }) => id));
}
