import type { Database } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { OPEN } from '../db/turn-states.js';

/**
 * The bytes of a session's rows count in the storage of its project. `session_states.row_bytes` has them: a new session writes its own,
 * and triggers add those of each turn that ends (src/db/migrations/18-row-bytes). Another trigger writes each change to
 * `row_byte_changes`, where nothing waits for anything; rounds of the reconciler add these up into `project_storage.row_bytes`.
 */

/** Of the row of a session `sessions`, as `row_bytes_of_turns` measures rows. Metadata counts as text: PATCH subtracts what it replaces. */
export const SESSION_ROW_BYTES = rawSql(`(1500 + pg_column_size(sessions.tools) + pg_column_size(sessions.model_tools)
  + coalesce(pg_column_size(sessions.instruction), 0) + octet_length(sessions.metadata::text))`);

const MAX_CHANGES = 10_000;
const MAX_COUNTED_SESSIONS = 100;

/** Adds at most 10,000 changes to the sums of their projects. Returns whether there may be more. */
export async function addRowBytes(db: Database): Promise<boolean> {
  const [added] = await runSql<{ count: number }>(
    db,
    sql`WITH changes AS (
          DELETE FROM row_byte_changes WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM row_byte_changes LIMIT ${MAX_CHANGES} FOR UPDATE SKIP LOCKED))
          RETURNING project_id, bytes),
        added AS (
          INSERT INTO project_storage (project_id, bytes, row_bytes)
          SELECT project_id, 0, sum(bytes)::bigint FROM changes GROUP BY project_id ORDER BY project_id
          ON CONFLICT (project_id) DO UPDATE SET row_bytes = project_storage.row_bytes + excluded.row_bytes)
        SELECT count(*)::integer AS count FROM changes`,
  );
  return added!.count === MAX_CHANGES;
}

/** Counts some sessions that a version before wrote, with the turns that have ended. Returns whether there may be more. */
export function countOldSessions(db: Database): Promise<boolean> {
  return transaction(db, async (tx) => {
    // A turn that ends adds nothing to a session that is not counted, and waits for this lock. So it is counted once: the statements
    // below see it as ended, or its end sees the session as counted.
    const locked = await runSql<{ id: string }>(
      tx,
      sql`SELECT session_id AS id FROM session_states WHERE row_bytes IS NULL
          LIMIT ${MAX_COUNTED_SESSIONS} FOR NO KEY UPDATE SKIP LOCKED`,
    );
    for (const { id } of locked) {
      await runSql(
        tx,
        sql`UPDATE session_states SET row_bytes = coalesce((
              SELECT ${SESSION_ROW_BYTES} + row_bytes_of_turns(id, 1, (
                SELECT coalesce(max(number), 0) FROM turns WHERE session_id = sessions.id AND NOT (${rawSql(OPEN)})))
              FROM sessions WHERE id = ${id}), 0)
            WHERE session_id = ${id}`,
      );
    }
    return locked.length === MAX_COUNTED_SESSIONS;
  });
}
