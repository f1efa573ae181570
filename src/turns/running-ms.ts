import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { runningMs } from './totals.js';

/** Milliseconds that a turn has run so far; 0 if it does not exist. */
export async function loadRunningMs(db: Db, turnId: string): Promise<number> {
  const [turn] = await runSql<{ ms: number }>(
    db,
    sql`SELECT ${rawSql(runningMs('turns'))} AS ms FROM turns WHERE id = ${turnId}`,
  );
  return turn?.ms ?? 0;
}
