import { runSql, sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import type { TaskState } from '../mcp/tasks.js';
import { running, writeTurn, type TurnDeps } from '../turns/write.js';
import type { CallPlace } from './task-call.js';

/** What a server has reported of an open task, and its `agent.tool_progress` if it is shown. */
export interface ReportedState extends TaskState {
  index: number;
  event: NewEvent | null;
}

/** Stores the states of tasks that were asked for together, with their events. @throws TurnEndedError, OvertakenError */
export async function storeStates(
  deps: TurnDeps,
  { turnId, step }: Pick<CallPlace, 'turnId' | 'step'>,
  states: ReportedState[],
): Promise<void> {
  const indices = states.map(({ index }) => index);
  const update = sql`
    UPDATE mcp_tasks m SET asked_at = clock_timestamp(), status = s.status, message = s.message, poll_ms = s.poll_ms,
      shown_status = CASE WHEN is_shown THEN s.status ELSE shown_status END,
      shown_message = CASE WHEN is_shown THEN s.message ELSE shown_message END,
      shown_at = CASE WHEN is_shown THEN clock_timestamp() ELSE shown_at END
    FROM unnest(${indices}::integer[], ${states.map(({ status }) => status)}::text[],
      ${states.map(({ message }) => message)}::text[], ${states.map(({ pollMs }) => pollMs)}::integer[],
      ${states.map(({ event }) => event !== null)}::boolean[]) AS s(index, status, message, poll_ms, is_shown)
    WHERE m.turn_id = ${turnId} AND m.step = ${step} AND m.index = s.index`;
  const events = newEvents(states.flatMap(({ event }) => event ?? []));
  if (events.length === 0) {
    await runSql(deps.db, update);
    return;
  }
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = clock_timestamp()
        FROM turn WHERE turns.id = turn.id AND ${states.length}::integer = (
          SELECT count(*) FROM tool_calls c
          WHERE c.turn_id = turn.id AND c.step = ${step} AND c.index = ANY(${indices}::integer[]) AND c.state = 'task')
        RETURNING turns.id, session_id, number, state, position, clock_timestamp() AS at),
      task AS (${update} AND EXISTS (SELECT FROM written)),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  await writeTurn(deps, turnId, { statement, events, streamed: { attempt: 0, deltas: 0 } });
}
