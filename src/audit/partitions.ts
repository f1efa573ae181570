import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';

/** Months whose partitions are created ahead. Without one, the first entry of the month creates it. */
const MONTHS_AHEAD = 2;

interface OldPartition {
  name: string;
  is_attached: boolean;
  /** A detach was interrupted while it waited for older transactions. */
  is_detaching: boolean;
}

/** Creates the partitions of the log for this month and the next ones. */
export async function createAuditPartitions(db: Database): Promise<void> {
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
    await runSql(
      db,
      sql`SELECT ensure_audit_partition(
            (date_trunc('month', statement_timestamp() AT TIME ZONE 'UTC') + ${ahead}::integer * interval '1 month') AT TIME ZONE 'UTC')`,
    );
  }
}

/**
 * Drops the months of the log whose last entries are older than `days`. A month goes as a whole, without a lock that
 * readers or writers of other months wait for. Returns how many it dropped.
 */
export async function dropOldAuditPartitions(db: Database, days: number): Promise<number> {
  const old = await runSql<OldPartition>(
    db,
    sql`SELECT relname AS name, inhrelid IS NOT NULL AS is_attached, coalesce(inhdetachpending, false) AS is_detaching
        FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid AND inhparent = 'audit_log'::regclass
        WHERE relname ~ '^audit_log_\\d{6}$' AND relkind = 'r'
          AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'audit_log'::regclass)
          AND to_date(right(relname, 6), 'YYYYMM') + interval '1 month'
            <= (statement_timestamp() AT TIME ZONE 'UTC') - ${days}::integer * interval '1 day'
        ORDER BY relname`,
  );
  for (const { name, is_attached, is_detaching } of old) {
    // CONCURRENTLY waits for the transactions that may still read it, and none waits for this.
    if (is_attached)
      await db.query(`ALTER TABLE audit_log DETACH PARTITION ${name} ${is_detaching ? 'FINALIZE' : 'CONCURRENTLY'}`);
    await db.query(`DROP TABLE IF EXISTS ${name}`);
  }
  return old.length;
}

/** Removes the counts of refusals that are over. Returns how many it removed. */
export async function forgetRefusalCounts(db: Database, limit: number): Promise<number> {
  const [, count] = await db.query<[unknown[], number]>(
    `DELETE FROM audit_refusals WHERE key_id = ANY(ARRAY(
       SELECT key_id FROM audit_refusals WHERE since < statement_timestamp() - interval '1 hour'
       LIMIT $1 FOR UPDATE SKIP LOCKED))`,
    [limit],
  );
  return count;
}
