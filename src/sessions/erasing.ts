import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';

/**
 * SQL that is true for a session `s` whose user is being erased (src/erasures): it takes no message any more, nothing is made of it, and
 * soon it is gone. A session that was made after the erasure began is none of it.
 */
export const IS_ERASED = `EXISTS (
  SELECT FROM erasures e WHERE e.project_id = s.project_id AND e.end_user = s.end_user AND e.finished_at IS NULL
    AND s.created_at <= e.created_at)`;

/** True if the user of the session is being erased. */
export async function isErased(db: Db, sessionId: string): Promise<boolean> {
  const [row] = await db.query<{ is_erased: boolean }[]>(
    `SELECT ${IS_ERASED} AS is_erased FROM sessions s WHERE id = $1`,
    [sessionId],
  );
  return row?.is_erased === true;
}

const userKey = (projectId: string, user: string): string => `erasure of ${projectId} ${user}`;

/**
 * Before a session is made: an erasure of its user that begins meanwhile waits for the commit, and finds the session. One that is made after
 * it has begun is younger than the erasure. Returns at once; the lock travels with the statement behind it.
 */
export function lockForNewSession(tx: Tx, projectId: string, user: string | null): void {
  if (user === null) return;
  write(tx, 'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [userKey(projectId, user)]);
}

/** Waits for the transactions under way that make sessions of a user. */
export async function lockForErasure(tx: Tx, projectId: string, user: string): Promise<void> {
  await runSql(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${userKey(projectId, user)}, 0))`);
}
