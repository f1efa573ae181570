import type { DataSource } from 'typeorm';
import { transaction } from '../db/transaction.js';

/** A deleted session is kept for this long, so that work under way at its deletion can end. */
const KEPT = "interval '1 hour'";

/**
 * Removes at most `limit` turns (with their events) and `limit` rows of sessions deleted at least an hour ago. Files
 * stay and keep their `session_id`. Objects of the turns become orphans, which storage maintenance removes.
 */
export async function purgeSessions(db: DataSource, limit: number): Promise<{ turns: number; sessions: number }> {
  return transaction(db, async (tx) => {
    const [, turns] = await tx.query<[unknown[], number]>(
      `DELETE FROM turns WHERE id = ANY(ARRAY(
         SELECT turns.id FROM sessions JOIN turns ON turns.session_id = sessions.id
         WHERE deleted_at < statement_timestamp() - ${KEPT} AND state NOT IN ('queued', 'running') LIMIT $1))`,
      [limit],
    );
    const [rows, sessions] = await tx.query<[{ id: string }[], number]>(
      `DELETE FROM sessions WHERE id = ANY(ARRAY(
         SELECT id FROM sessions WHERE deleted_at < statement_timestamp() - ${KEPT}
           AND NOT EXISTS (SELECT FROM turns WHERE turns.session_id = sessions.id) LIMIT $1)) RETURNING id`,
      [limit],
    );
    await tx.query('DELETE FROM compactions WHERE session_id = ANY($1)', [rows.map(({ id }) => id)]);
    return { turns, sessions };
  });
}

/**
 * Soft-deletes at most `limit` sessions without activity (a turn or a metadata change) for `days`. Sessions with an
 * open turn stay, and so do sessions whose latest turn this statement cannot see yet.
 */
export async function expireSessions(db: DataSource, days: number, limit: number): Promise<number> {
  const [, count] = await db.query<[unknown[], number]>(
    `WITH old AS (
       SELECT id FROM sessions
       WHERE deleted_at IS NULL AND metadata_updated_at < statement_timestamp() - $1 * interval '1 day'
         AND (last_turn_id IS NULL OR EXISTS (
           SELECT FROM turns WHERE turns.id = last_turn_id AND state NOT IN ('queued', 'running')
             AND transition_at < statement_timestamp() - $1 * interval '1 day'))
       LIMIT $2 FOR UPDATE SKIP LOCKED)
     UPDATE sessions SET deleted_at = clock_timestamp() FROM old WHERE sessions.id = old.id`,
    [days, limit],
  );
  return count;
}
