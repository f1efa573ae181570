import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { foldCase } from '../platform/fold-case.js';

const MAX_SESSIONS = 500;

/**
 * Folds some previews that a version before wrote, the newest sessions first: searches do not find a session before. Returns whether
 * there may be more.
 */
export function foldOldPreviews(db: Database): Promise<boolean> {
  return transaction(db, async (tx) => {
    const found = await runSql<{ id: string; preview: string }>(
      tx,
      sql`SELECT id, preview FROM sessions WHERE preview IS NOT NULL AND preview_folded IS NULL
          ORDER BY id DESC LIMIT ${MAX_SESSIONS}`,
    );
    if (found.length === 0) return false;
    const values = [found.map(({ id }) => id), found.map(({ preview }) => foldCase(preview))];
    for (const [table, id] of [
      ['session_states', 'session_id'],
      ['sessions', 'id'],
    ]) {
      await tx.query(
        `UPDATE ${table} SET preview_folded = folded.text FROM unnest($1::text[], $2::text[]) AS folded (id, text)
         WHERE ${table}.${id} = folded.id`,
        values,
      );
    }
    return found.length === MAX_SESSIONS;
  });
}
