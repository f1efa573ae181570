import type { Database } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Round } from '../platform/rounds.js';

/**
 * The bytes of a session's rows count in the storage of its project. `session_states.row_bytes` has them: a new session writes its own,
 * and triggers add those of each turn that ends (src/db/migrations). Another trigger writes each change to
 * `row_byte_changes`, where nothing waits for anything; rounds of the reconciler add these up into `project_storage.row_bytes`.
 */

/** Of the rows of a session `sessions`, its own configuration `c`, which one of an agent need not have, and its overrides, as `row_bytes_of_turns` measures rows. Metadata counts as text: PATCH subtracts what it replaces. */
export const SESSION_ROW_BYTES = `(1500 + coalesce(pg_column_size(c.tools) + pg_column_size(c.model_tools), 0)
  + coalesce(pg_column_size(c.instruction), 0) + octet_length(sessions.metadata::text)
  + (SELECT coalesce(sum(octet_length(overrides::text)), 0) FROM session_overrides WHERE session_id = sessions.id))`;

/** Of a configuration `c` of an agent's version. */
export const VERSION_BYTES = rawSql(`(1500 + pg_column_size(c.tools) + pg_column_size(c.model_tools)
  + coalesce(pg_column_size(c.instruction), 0))`);

const MAX_CHANGES = 10_000;

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

export const rowBytes: Round<{ db: Database }> = {
  name: 'bytes of rows',
  everyMs: 2000,
  run: async ({ db }) => ((await addRowBytes(db)) ? 0 : null),
};
