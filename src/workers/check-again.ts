import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';

/** Makes the next round check these turns, however recent their last progress is. */
export async function checkAgain(db: Database, turnIds: string[]): Promise<void> {
  if (turnIds.length === 0) return;
  await runSql(db, sql`UPDATE open_turns SET checked_at = NULL WHERE turn_id = ANY(${turnIds}::text[])`);
}
