import type { Database, Db, Tx } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { lockForErasure } from '../sessions/erasing.js';

/** An erasure of a person (docs/memory.md). The numbers say what is gone so far. */
export interface Erasure {
  id: string;
  project_id: string;
  /** Null 30 days after the end. */
  end_user: string | null;
  attached_files: boolean;
  sessions: number;
  credentials: number;
  memories: number;
  files: number;
  created_at: string;
  finished_at: string | null;
}

/** One that is under way. */
export type RunningErasure = Erasure & { end_user: string };

const NAMES = `id, project_id, end_user, attached_files, sessions, credentials, memories, files, created_at, finished_at`;
const COLUMNS = rawSql(NAMES);
/** How long an erasure names its user after its end. */
const KEPT = "interval '30 days'";

/**
 * SQL that is true for the sessions `s` that an erasure is about. A child session is as old as its parent, whose open turn may have begun
 * it after the erasure.
 */
export function isOfErasure({
  project_id,
  end_user,
  created_at,
}: Pick<RunningErasure, 'project_id' | 'end_user' | 'created_at'>): Sql {
  return sql`(s.project_id = ${project_id} AND s.end_user = ${end_user} AND coalesce((
    SELECT p.created_at FROM sessions p WHERE p.id = s.parent_session_id), s.created_at) <= ${created_at}::timestamptz)`;
}

/** SQL that is true for the schedules `c` whose target is the user's, or one of these sessions. */
export function isScheduleOfErasure(erasure: RunningErasure): Sql {
  return sql`(c.project_id = ${erasure.project_id} AND c.deleted_at IS NULL
    AND (c.target::json#>>'{session,user}' = ${erasure.end_user}
      OR EXISTS (SELECT FROM sessions s WHERE s.id = c.session_id AND ${isOfErasure(erasure)})))`;
}

/**
 * Begins an erasure, or finds the one of this user that is not done. From the commit on the sessions of the user that are there take no
 * message. That of a user without anything is done at once.
 * @param onBegin runs in the transaction that begins it
 */
export function beginErasure(
  db: Database,
  projectId: string,
  user: string,
  attachedFiles: boolean,
  onBegin: (tx: Tx, erasure: Erasure) => Promise<void>,
): Promise<{ erasure: Erasure; isNew: boolean }> {
  return transaction(db, async (tx) => {
    await lockForErasure(tx, projectId, user);
    const [running] = await runSql<Erasure>(
      tx,
      sql`SELECT ${COLUMNS} FROM erasures WHERE project_id = ${projectId} AND end_user = ${user} AND finished_at IS NULL`,
    );
    if (running !== undefined) return { erasure: running, isNew: false };
    const [begun] = await runSql<RunningErasure>(
      tx,
      sql`INSERT INTO erasures (id, project_id, end_user, attached_files, usage_until)
          VALUES (${newId('erasure')}, ${projectId}, ${user}, ${attachedFiles}, ${beforeUsageOf(projectId, user)})
          RETURNING ${COLUMNS}`,
    );
    const erasure = (await hasNothing(tx, begun!)) ? await finish(tx, begun!.id) : begun!;
    await onBegin(tx, erasure);
    return { erasure, isNew: true };
  });
}

/** SQL for a time before the first turn that usage has of a user, also of sessions that are gone; null if it has none. */
function beforeUsageOf(projectId: string, user: string): Sql {
  return sql`(SELECT min(first) - interval '1 microsecond' FROM (
      SELECT min(day)::timestamp AT TIME ZONE 'UTC' AS first FROM usage_sums
      WHERE project_id = ${projectId} AND kind = 'metadata.' AND name = ${user}
      UNION ALL SELECT min(ended_at) FROM turn_usage
      WHERE project_id = ${projectId} AND NOT is_summed AND metadata->>'' = ${user}) AS times)`;
}

async function hasNothing(tx: Tx, erasure: RunningErasure): Promise<boolean> {
  const { project_id, end_user } = erasure;
  const [row] = await runSql<{ is_empty: boolean }>(
    tx,
    sql`SELECT NOT (EXISTS (SELECT FROM erasures WHERE id = ${erasure.id} AND usage_until IS NOT NULL)
          OR EXISTS (SELECT FROM sessions s WHERE ${isOfErasure(erasure)} AND s.deleted_at IS NULL)
          OR EXISTS (SELECT FROM sessions s WHERE ${isOfErasure(erasure)} AND s.deleted_at IS NOT NULL)
          OR EXISTS (SELECT FROM user_credentials WHERE project_id = ${project_id} AND end_user = ${end_user})
          OR EXISTS (SELECT FROM memories WHERE project_id = ${project_id} AND end_user = ${end_user})
          OR EXISTS (SELECT FROM schedules c WHERE ${isScheduleOfErasure(erasure)})) AS is_empty`,
  );
  return row!.is_empty;
}

/** Ends an erasure. A second end changes nothing. */
export async function finish(db: Db, id: string): Promise<Erasure> {
  const [erasure] = await runSql<Erasure>(
    db,
    sql`WITH finished AS (
          UPDATE erasures SET finished_at = coalesce(finished_at, clock_timestamp()) WHERE id = ${id} RETURNING *)
        SELECT ${COLUMNS} FROM finished`,
  );
  return erasure!;
}

/** Adds to the numbers of what is gone, in the transaction that deletes it. */
export async function count(
  tx: Tx,
  { id }: Pick<Erasure, 'id'>,
  what: 'sessions' | 'credentials' | 'memories' | 'files',
  number: number,
): Promise<void> {
  if (number === 0) return;
  await runSql(tx, sql`UPDATE erasures SET ${rawSql(what)} = ${rawSql(what)} + ${number}::integer WHERE id = ${id}`);
}

/**
 * The erasure, for its next portion: null if it is over. Erasures of a project run one at a time, in their order: until its turn comes,
 * `isFirst` is false.
 */
export async function takeErasure(db: Db, id: string): Promise<{ erasure: RunningErasure; isFirst: boolean } | null> {
  const [row] = await runSql<RunningErasure & { is_first: boolean }>(
    db,
    sql`WITH taken AS (
          UPDATE erasures SET touched_at = clock_timestamp() WHERE id = ${id} AND finished_at IS NULL RETURNING *)
        SELECT ${COLUMNS}, NOT EXISTS (
            SELECT FROM erasures o WHERE o.project_id = taken.project_id AND o.finished_at IS NULL
              AND (o.created_at, o.id) < (taken.created_at, taken.id)) AS is_first
        FROM taken`,
  );
  if (row === undefined) return null;
  const { is_first: isFirst, ...erasure } = row;
  return { erasure, isFirst };
}

/** Erasures whose turn has come, and of whose workflow there was no sign of life for some seconds. */
export async function findStale(db: Db, seconds: number, limit: number): Promise<Pick<Erasure, 'id' | 'project_id'>[]> {
  return runSql(
    db,
    sql`SELECT id, project_id FROM (
          SELECT DISTINCT ON (project_id) id, project_id, touched_at FROM erasures WHERE finished_at IS NULL
          ORDER BY project_id, created_at, id) AS first
        WHERE touched_at < clock_timestamp() - ${seconds} * interval '1 second' ORDER BY touched_at LIMIT ${limit}`,
  );
}

export async function findErasure(db: Db, projectId: string, id: string): Promise<Erasure | null> {
  const [erasure] = await runSql<Erasure>(
    db,
    sql`SELECT ${COLUMNS} FROM erasures WHERE id = ${id} AND project_id = ${projectId}`,
  );
  return erasure ?? null;
}

export function listErasures(db: Db, projectId: string, { limit, after }: PageRequest): Promise<PageRows<Erasure>> {
  return readPage<Erasure>(db, {
    query: `SELECT ${NAMES} FROM erasures
      WHERE project_id = $1 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
      ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`,
    values: [projectId, after?.[0] ?? null, after?.[1] ?? null],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** Forgets the users of at most `limit` erasures that ended 30 days ago. Returns how many. */
export async function forgetErasedUsers(db: Db, limit: number): Promise<number> {
  const [, forgotten] = await db.query<[unknown[], number]>(
    `UPDATE erasures SET end_user = NULL WHERE id IN (
       SELECT id FROM erasures WHERE end_user IS NOT NULL AND finished_at < statement_timestamp() - ${KEPT}
       LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
  return forgotten;
}
