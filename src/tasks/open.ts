import type { Database } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { FairQueue } from '../platform/fair-queue.js';
import type { CallPlace } from '../turns/facts.js';

/** decisions.md "Tasks and elicitation": open tasks of a turn, and of a project. */
export const MAX_TASKS_OF_TURN = 50;
export const MAX_TASKS_OF_PROJECT = 500;

/** The open tasks of a project's open turns, as `c`: at most 500 entries of an index, read turn by turn. */
const OPEN_TASKS = 'open_turns o JOIN tool_calls c ON c.turn_id = o.turn_id AND c.holds_task';

/** How many tasks of the project of `turns` are open. */
export const OPEN_TASKS_OF_PROJECT = rawSql(
  `(SELECT count(*)::integer FROM ${OPEN_TASKS} WHERE o.project_id = turns.project_id)`,
);

/** The calls of a project wait here, so that only one of them holds a connection of the pool. */
const reserving = new FairQueue({ perProject: 1 });

/**
 * Counts a call as an open task before it is sent, until it has a result or its turn ends. Returns what is full if it must not
 * be sent. The calls of a project wait for each other, so that the limits hold.
 */
export async function reserveTask(
  db: Database,
  projectId: string,
  { turnId, step, index }: CallPlace,
): Promise<'turn' | 'project' | null> {
  return reserving.within(projectId, () =>
    transaction(db, async (tx) => {
      await runSql(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${`new task ${projectId}`}, 0))`);
      // A statement of its own: it sees what the others have committed before they gave the lock away.
      const [open] = await runSql<{ ofTurn: number; ofProject: number }>(
        tx,
        sql`SELECT (count(*) FILTER (WHERE c.turn_id = ${turnId}))::integer AS "ofTurn", count(*)::integer AS "ofProject"
          FROM ${rawSql(OPEN_TASKS)} WHERE o.project_id = ${projectId}
            AND (c.turn_id, c.step, c.index) <> (${turnId}, ${step}::integer, ${index}::integer)`,
      );
      if (open!.ofTurn >= MAX_TASKS_OF_TURN) return 'turn';
      if (open!.ofProject >= MAX_TASKS_OF_PROJECT) return 'project';
      await runSql(
        tx,
        sql`UPDATE tool_calls SET holds_task = true
          WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index} AND state <> 'done'`,
      );
      return null;
    }),
  );
}
