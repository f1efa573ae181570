import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { CallPlace } from '../turns/facts.js';
import type { NewTask } from './task.js';

/** A task whose result is no longer needed, and that its server may still work on. */
export interface AbandonedTask extends CallPlace, Pick<NewTask, 'taskId' | 'serverId' | 'session'> {
  projectId: string;
}

/** The tasks of a turn that has ended, or whose call has a result without them. */
export async function abandonedTasks(db: Db, turnId: string): Promise<AbandonedTask[]> {
  return runSql(
    db,
    sql`SELECT m.turn_id AS "turnId", step, index, task_id AS "taskId", server_id AS "serverId", mcp_session AS session,
          project_id AS "projectId"
        FROM turns JOIN mcp_tasks m ON m.turn_id = turns.id JOIN tool_calls c USING (turn_id, step, index)
        WHERE turns.id = ${turnId} AND m.ended_at IS NULL AND m.cancelled_at IS NULL
          AND (turns.state <> 'running' OR c.state = 'done')`,
  );
}

export async function markCancelled(db: Db, { turnId, step, index }: CallPlace): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET cancelled_at = clock_timestamp()
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}
