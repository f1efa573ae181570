import type { DataSource } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { Lease } from '../db/lease.js';

/**
 * Leases also run out while Postgres is away. It must have answered the leader for this long without a gap before a worker
 * counts as dead: workers that live have renewed their leases by then.
 */
const STEADY_MS = 5_000;

/**
 * Declares the workers of the namespace dead whose lease has run out, if this process leads. From then on they cannot renew
 * it. Returns all dead workers whose activities have not been handed over yet.
 */
export async function findDeadWorkers(db: DataSource, namespace: string, leader: Lease): Promise<string[]> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`WITH declared AS (
          UPDATE workers SET dead_at = clock_timestamp()
          WHERE namespace = ${namespace} AND until < clock_timestamp() AND dead_at IS NULL AND ${leader.heldAfter(STEADY_MS)}
          RETURNING id)
        SELECT id FROM declared UNION SELECT id FROM workers WHERE namespace = ${namespace} AND dead_at IS NOT NULL`,
  );
  return rows.map(({ id }) => id);
}

/** Forgets a dead worker after its activities were handed over; false if another process has. */
export async function forgetWorker(db: DataSource, workerId: string): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`WITH forgotten AS (DELETE FROM workers WHERE id = ${workerId} AND dead_at IS NOT NULL RETURNING id)
        SELECT id FROM forgotten`,
  );
  return rows.length > 0;
}

/** Those of the workers that are dead. One that is not in the table was forgotten, or has given its lease back. */
export async function deadAmong(db: DataSource, workerIds: string[]): Promise<Set<string>> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT id FROM unnest(${workerIds}::text[]) AS asked(id)
        WHERE NOT EXISTS (SELECT FROM workers WHERE workers.id = asked.id AND dead_at IS NULL)`,
  );
  return new Set(rows.map(({ id }) => id));
}

export async function countWorkers(db: DataSource, namespace: string, taskQueue: string): Promise<number> {
  const [row] = await runSql<{ workers: number }>(
    db,
    sql`SELECT count(*)::integer AS workers FROM workers
        WHERE namespace = ${namespace} AND task_queue = ${taskQueue}
          AND until > clock_timestamp() AND dead_at IS NULL AND NOT is_draining`,
  );
  return row!.workers;
}
