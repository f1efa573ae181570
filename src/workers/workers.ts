import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { Lease } from '../db/lease.js';

/**
 * Leases also run out during an outage of Postgres. Only after Postgres has answered the leader without a gap for this long is a
 * worker declared dead: by then live workers have renewed their leases.
 */
const STEADY_MS = 5_000;

/** Dead workers whose activities have not been reassigned yet, and the ms until the next lease of a live one may run out. */
interface DeadWorkers {
  ids: string[];
  nextMs: number | null;
}

/** If this process is the leader: declares workers dead whose lease has run out. They cannot renew it afterwards. */
export async function findDeadWorkers(db: Database, namespace: string, leader: Lease): Promise<DeadWorkers> {
  const [row] = await runSql<DeadWorkers>(
    db,
    sql`WITH declared AS (
          UPDATE workers SET dead_at = clock_timestamp()
          WHERE namespace = ${namespace} AND until < clock_timestamp() AND dead_at IS NULL AND ${leader.heldAfter(STEADY_MS)}
          RETURNING id),
        dead AS (
          SELECT id FROM declared UNION SELECT id FROM workers WHERE namespace = ${namespace} AND dead_at IS NOT NULL),
        leases AS (
          SELECT extract(epoch FROM until - clock_timestamp()) * 1000 AS ms
          FROM workers WHERE namespace = ${namespace} AND dead_at IS NULL)
        SELECT array(SELECT id FROM dead) AS ids, (SELECT min(ms) FROM leases WHERE ms > 0)::double precision AS "nextMs"`,
  );
  return row!;
}

/** Deletes a dead worker whose activities have been reassigned; false if another process has deleted it. */
export async function forgetWorker(db: Database, workerId: string): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`WITH forgotten AS (DELETE FROM workers WHERE id = ${workerId} AND dead_at IS NOT NULL RETURNING id)
        SELECT id FROM forgotten`,
  );
  return rows.length > 0;
}

/**
 * Which of these workers are dead, and which will be declared dead unless they renew their lease. A worker that is not in the table
 * was deleted, or has released its lease.
 */
export async function deadAmong(db: Database, workerIds: string[]): Promise<{ dead: Set<string>; late: Set<string> }> {
  const rows = await runSql<{ id: string; isLate: boolean }>(
    db,
    sql`SELECT asked.id, workers.id IS NOT NULL AND dead_at IS NULL AS "isLate"
        FROM unnest(${workerIds}::text[]) AS asked(id) LEFT JOIN workers USING (id)
        WHERE workers.id IS NULL OR dead_at IS NOT NULL OR until < clock_timestamp()`,
  );
  const ids = (isLate: boolean): Set<string> =>
    new Set(rows.filter((row) => row.isLate === isLate).map(({ id }) => id));
  return { dead: ids(false), late: ids(true) };
}

export async function countWorkers(db: Database, namespace: string, taskQueue: string): Promise<number> {
  const [row] = await runSql<{ workers: number }>(
    db,
    sql`SELECT count(*)::integer AS workers FROM workers
        WHERE namespace = ${namespace} AND task_queue = ${taskQueue}
          AND until > clock_timestamp() AND dead_at IS NULL AND NOT is_draining`,
  );
  return row!.workers;
}
