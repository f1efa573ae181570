import { createHash, randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { ApiKeyEntity, ProjectEntity, type ProjectRow } from '../db/entities/projects.js';
import { transaction, type Db } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import { SCOPES, type Scope } from './permissions.js';

/** The caller of a request: its project and permissions. */
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
  /** If absent, an existing project keeps its limit and a new one gets the default. */
  maxRunningTurns?: number;
}

/**
 * Issues a key for a project. The first key creates the project; on an existing project the limit is updated
 * (contract.md §5). The key is shown only here: the table stores its hash.
 */
export async function createKey(
  db: DataSource,
  { project, scopes = SCOPES, maxRunningTurns }: NewKey,
): Promise<{ id: string; projectId: string; key: string }> {
  const key = `ask_${randomBytes(32).toString('base64url')}`;
  const id = newId('apiKey');
  return transaction(db, async (tx) => {
    const limit = maxRunningTurns === undefined ? {} : { max_running_turns: maxRunningTurns };
    // This no-op update makes RETURNING give the existing row.
    const result = await tx
      .createQueryBuilder()
      .insert()
      .into(ProjectEntity)
      .values({ id: newId('project'), name: project, ...limit })
      .orUpdate(['name', ...Object.keys(limit)], ['name'])
      .returning('id')
      .execute();
    const projectId = (result.raw as [ProjectRow])[0].id;
    await tx
      .getRepository(ApiKeyEntity)
      .insert({ id, project_id: projectId, key_hash: hashOf(key), scopes: [...scopes] });
    return { id, projectId, key };
  });
}

/** Every key ever issued, newest first. */
export function listKeys(db: Db): Promise<ListedKey[]> {
  return db
    .createQueryBuilder(ApiKeyEntity, 'k')
    .innerJoin(ProjectEntity.options.name, 'p', 'p.id = k.project_id')
    .select(`k.id, p.name AS project, k.scopes, k.created_at, k.revoked_at, k.expires_at, ${LIVE} AS live`)
    .orderBy('k.created_at', 'DESC')
    .addOrderBy('k.id', 'DESC')
    .getRawMany();
}

/** Revokes a key for good. A second call keeps the first time. Returns false if the key does not exist. */
export async function revokeKey(db: Db, id: string): Promise<boolean> {
  const revoked = { revoked_at: () => 'coalesce(revoked_at, clock_timestamp())' };
  return (await db.getRepository(ApiKeyEntity).update({ id }, revoked)).affected === 1;
}

/** Sets the expiry of a key; null means never. Returns false if the key does not exist. */
export async function expireKey(db: Db, id: string, at: Date | null): Promise<boolean> {
  const expires_at = at === null ? null : at.toISOString();
  return (await db.getRepository(ApiKeyEntity).update({ id }, { expires_at })).affected === 1;
}

/** A project as `keys -- projects` shows it. */
interface ListedProject {
  id: string;
  name: string;
  max_running_turns: number;
  open_turns: number;
  live_keys: number;
  created_at: string;
}

/** Every project, by name. */
export function listProjects(db: Db): Promise<ListedProject[]> {
  return db
    .createQueryBuilder(ProjectEntity, 'p')
    .select('p.id, p.name, p.max_running_turns, p.created_at')
    .addSelect(`(SELECT count(*) FROM open_turns WHERE project_id = p.id)::integer`, 'open_turns')
    .addSelect(`(SELECT count(*) FROM api_keys WHERE project_id = p.id AND ${LIVE})::integer`, 'live_keys')
    .orderBy('p.name')
    .getRawMany();
}

/** Sets the limit of queued or running turns of a project. Returns false if the project does not exist. */
export async function limitProject(db: Db, name: string, maxRunningTurns: number): Promise<boolean> {
  const change = { max_running_turns: maxRunningTurns };
  return (await db.getRepository(ProjectEntity).update({ name }, change)).affected === 1;
}

const LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())';

/** Finds the keys with these hashes, in base64, unless they are revoked or expired. */
export async function findLiveKeys(db: Db, hashes: string[]): Promise<Map<string, LiveKey>> {
  const rows = await db
    .createQueryBuilder(ApiKeyEntity, 'k')
    .where('k.key_hash = ANY(:hashes)', { hashes: hashes.map((hash) => Buffer.from(hash, 'base64')) })
    .andWhere(LIVE)
    .getMany();
  return new Map(
    rows.map((row) => [
      row.key_hash.toString('base64'),
      { keyId: row.id, projectId: row.project_id, scopes: new Set(row.scopes), expiresAt: row.expires_at },
    ]),
  );
}

/**
 * Returns which of the keys are still valid. Open streams of the others are closed (contract.md §5, `keys -- revoke`).
 */
export async function liveKeyIds(db: Db, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .createQueryBuilder(ApiKeyEntity, 'k')
    .where('k.id = ANY(:ids)', { ids })
    .andWhere(LIVE)
    .getMany();
  return new Set(rows.map((row) => row.id));
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
