import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { ActivityTask } from '../turns/turn.js';
import type { ModelFailure } from './model-call.js';

interface AheadCall {
  workerId: string;
  /** It runs, and its worker lives. */
  isOpen: boolean;
  /** Why the model failed, for the first attempt of an activity that asks. */
  failure: ModelFailure | null;
  endedForMs: number;
}

/**
 * Records the activity that waits for the first call of a turn, if that began ahead: a takeover of the activity's worker finds
 * it. Null if no call did.
 */
export async function joinAheadCall(db: Db, turnId: string, task: ActivityTask): Promise<AheadCall | null> {
  const [row] = await runSql<AheadCall>(
    db,
    sql`WITH ahead AS MATERIALIZED (
          SELECT a.turn_id, a.position, a.attempt, worker_id, ended_at, joined_by IS NULL OR task_token = ${task.token}::bytea AS is_first, error
          FROM model_attempts a WHERE turn_id = ${turnId} AND step = 1 AND (task_token IS NULL OR joined_by IS NOT NULL)
          ORDER BY a.position DESC, a.attempt DESC LIMIT 1),
        joined AS (
          UPDATE model_attempts a SET joined_by = ${task.workerId}, task_token = ${task.token}::bytea FROM ahead
          WHERE a.turn_id = ahead.turn_id AND a.position = ahead.position AND a.attempt = ahead.attempt
            AND (a.joined_by IS DISTINCT FROM ${task.workerId} OR a.task_token IS DISTINCT FROM ${task.token}::bytea)
          -- The row after its lock: the call may have ended at this moment.
          RETURNING a.ended_at, a.error)
        SELECT worker_id AS "workerId",
          coalesce((SELECT ended_at FROM joined), ahead.ended_at) IS NULL AND EXISTS (
            SELECT FROM workers w WHERE w.id = worker_id AND dead_at IS NULL AND until > clock_timestamp()) AS "isOpen",
          CASE WHEN is_first THEN coalesce((SELECT error FROM joined), ahead.error) END AS failure,
          coalesce(extract(epoch FROM clock_timestamp() - ended_at) * 1000, 0)::double precision AS "endedForMs"
        FROM ahead`,
  );
  return row ?? null;
}

/** Whether the first call of a running turn was begun ahead of its activity and runs, on a worker that lives. */
export async function runsAhead(db: Db, turnId: string): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`SELECT FROM model_attempts a
          JOIN turns t ON t.id = a.turn_id AND t.state = 'running'
          JOIN workers w ON w.id = a.worker_id AND dead_at IS NULL AND until > clock_timestamp()
        WHERE a.turn_id = ${turnId} AND a.step = 1 AND a.ended_at IS NULL AND (task_token IS NULL OR joined_by IS NOT NULL)`,
  );
  return rows.length > 0;
}

/** Closes the record of a call that ran ahead on this worker and failed, perhaps while Postgres was away. */
export async function closeAheadCall(db: Db, turnId: string, workerId: string): Promise<void> {
  await runSql(
    db,
    sql`UPDATE model_attempts SET ended_at = clock_timestamp()
        WHERE turn_id = ${turnId} AND step = 1 AND worker_id = ${workerId} AND ended_at IS NULL
          AND (task_token IS NULL OR joined_by IS NOT NULL)`,
  );
}

/** Those of the turns whose first call ran ahead on this worker and that no activity has asked for. */
export async function neverJoined(db: Db, turnIds: string[], workerId: string): Promise<Set<string>> {
  const rows = await runSql<{ turn_id: string }>(
    db,
    sql`SELECT turn_id FROM model_attempts a
        WHERE turn_id = ANY(${turnIds}::text[]) AND step = 1 AND worker_id = ${workerId} AND task_token IS NULL
          AND NOT EXISTS (SELECT FROM model_attempts b WHERE b.turn_id = a.turn_id AND b.task_token IS NOT NULL)`,
  );
  return new Set(rows.map(({ turn_id }) => turn_id));
}
