import type { Db, Tx } from '../db/db.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { changeSchedule } from './store.js';

/** Failed turns in a row that pause a schedule (docs/decisions.md "Schedules"). */
const MAX_FAILURES = 10;

/** SQL: the turn `t` of a run has ended, or will never start. */
const hasEnded = (run: string): Sql =>
  rawSql(`(t.state IN ('completed', 'failed', 'cancelled') OR t.id IS NULL AND NOT EXISTS (
    SELECT FROM waiting_messages w WHERE w.session_id = ${run}.session_id AND w.turn_id = ${run}.turn_id))`);

/**
 * Counts the turns of a locked schedule that have ended since the last time, and pauses it after ten failed ones in a
 * row. Cancelled turns do not count. Returns true if it paused the schedule.
 */
export async function countEndedTurns(tx: Tx, id: string): Promise<boolean> {
  const [counted] = await runSql<{ failures: number; pauses: boolean }>(
    tx,
    sql`WITH settled AS (
          UPDATE schedule_runs r SET is_settled = true, started_at = coalesce(r.started_at, t.queued_at)
          FROM schedule_runs u LEFT JOIN turns t ON t.id = u.turn_id
          WHERE u.schedule_id = ${id} AND NOT u.is_settled AND ${hasEnded('u')}
            AND r.schedule_id = u.schedule_id AND r.scheduled_at = u.scheduled_at
          RETURNING t.state, t.ended_at),
        completed AS (SELECT max(ended_at) AS last FROM settled WHERE state = 'completed'),
        failed AS (
          SELECT count(*)::integer AS count FROM settled, completed
          WHERE state = 'failed' AND (last IS NULL OR ended_at > last)),
        counted AS (
          UPDATE schedules s SET failures = failed.count + CASE WHEN last IS NULL THEN s.failures ELSE 0 END
          FROM completed, failed WHERE s.id = ${id} AND (failed.count > 0 OR last IS NOT NULL)
          RETURNING s.failures, s.state)
        SELECT failures, state = 'active' AND failures >= ${MAX_FAILURES}::integer AS pauses FROM counted`,
  );
  if (counted?.pauses !== true) return false;
  await changeSchedule(tx, id, { state: 'paused', paused_reason: 'failures', next_run_at: null });
  return true;
}

/** Starts the count anew: turns that started before do not count any more. */
export async function forgetFailures(tx: Tx, id: string): Promise<void> {
  await tx.query('UPDATE schedule_runs SET is_settled = true WHERE schedule_id = $1 AND NOT is_settled', [id]);
}

export async function findUncounted(db: Db): Promise<{ id: string; session_id: string | null }[]> {
  return runSql(
    db,
    sql`SELECT s.id, s.session_id FROM schedules s
        WHERE s.deleted_at IS NULL AND s.id IN (
          SELECT r.schedule_id FROM schedule_runs r LEFT JOIN turns t ON t.id = r.turn_id
          WHERE NOT r.is_settled AND ${hasEnded('r')})
        LIMIT 500`,
  );
}
