import type { Turn } from '../db/entities/turns.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import type { McpSession } from '../mcp/client.js';
import type { TaskState, TaskStatus } from '../mcp/tasks.js';
import { runningMs, startClock } from '../turns/totals.js';
import { OvertakenError, TurnEndedError, type ActivityTask } from '../turns/turn.js';
import { running, writeTurn, type TurnDeps } from '../turns/write.js';
import type { ToolCallRow } from './tool-call.js';

/** A task to store with its call. The message is cleaned and short. */
export interface NewTask extends TaskState {
  taskId: string;
  serverId: string;
  session: McpSession | null;
}

/**
 * Stores the task that a server has begun for a call. May be repeated by the same attempt.
 * @throws TurnEndedError, or OvertakenError if another attempt stored an outcome
 */
export async function storeTask(
  deps: TurnDeps,
  call: ToolCallRow,
  task: NewTask,
  { token }: ActivityTask,
): Promise<void> {
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(call.turnId)} FOR NO KEY UPDATE),
      call AS (
        UPDATE tool_calls SET state = 'task'
        FROM turn WHERE turn_id = turn.id AND step = ${call.step} AND index = ${call.index} AND state = 'started'
          AND task_token = ${token}
        RETURNING turn_id, step, index, clock_timestamp() AS at),
      task AS (
        INSERT INTO mcp_tasks (turn_id, step, index, server_id, task_id, mcp_session, status, message, poll_ms)
        SELECT turn_id, step, index, ${task.serverId}, ${task.taskId}, ${JSON.stringify(task.session)}::json,
          ${task.status}, ${task.message}, ${task.pollMs}::integer FROM call),
      written AS (
        UPDATE turns SET progress_at = call.at, tasks_running = turns.tasks_running + 1,
          ${startClock('task', sql`call.at`)}
        FROM call WHERE turns.id = call.turn_id
        RETURNING turns.id)
    SELECT id FROM written`;
  try {
    await writeTurn(deps, call.turnId, { statement });
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
    const stored = await loadTask(deps.db, call);
    if (stored.task?.taskId !== task.taskId) throw error;
  }
}

/** A task as stored, with what its next question needs. */
export interface TaskRow extends Omit<NewTask, 'session'> {
  /** Null if the server keeps no sessions. */
  session: McpSession | null;
  shownStatus: TaskStatus;
  shownMessage: string | null;
  /** How long ago the last `agent.tool_progress` was stored; null without one. */
  shownAgoMs: number | null;
  /** Since the call. */
  ageMs: number;
  /** Since the task was stored. */
  storedAgoMs: number;
  lostReads: number;
  mayAsk: boolean;
}

/** The call of a task, with the fields of its turn that a question needs. */
export interface TaskCall {
  turn: Pick<Turn, 'id' | 'sessionId' | 'projectId' | 'state' | 'runningMs'>;
  call: Pick<ToolCallRow, 'toolUseId' | 'name' | 'state'>;
  task: TaskRow | null;
}

export type CallPlace = Pick<ToolCallRow, 'turnId' | 'step' | 'index'>;

/** @throws TurnEndedError if the turn or the call is missing */
export async function loadTask(db: Db, { turnId, step, index }: CallPlace): Promise<TaskCall> {
  const [row] = await runSql<TaskCall>(
    db,
    sql`SELECT json_build_object('id', turns.id, 'sessionId', session_id, 'projectId', turns.project_id, 'state', turns.state,
            'runningMs', ${rawSql(runningMs('turns'))}) AS turn,
          json_build_object('toolUseId', tool_use_id, 'name', name, 'state', c.state) AS call,
          CASE WHEN task_id IS NOT NULL THEN json_build_object('taskId', task_id, 'serverId', server_id,
            'session', mcp_session, 'status', status, 'message', message, 'pollMs', poll_ms, 'lostReads', lost_reads,
            'shownStatus', shown_status, 'shownMessage', shown_message,
            'shownAgoMs', ${since('shown_at')}, 'ageMs', ${since('c.started_at')},
            'storedAgoMs', ${since('m.created_at')}, 'mayAsk', EXISTS (
              SELECT FROM json_array_elements(tools) AS entry
              WHERE entry->>'mcp_server_id' = server_id AND entry->>'elicitation' = 'true')) END AS task
        FROM turns JOIN sessions ON sessions.id = turns.session_id JOIN tool_calls c ON c.turn_id = turns.id LEFT JOIN mcp_tasks m USING (turn_id, step, index)
        WHERE turns.id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return row;
}

const since = (column: string) =>
  rawSql(`(extract(epoch FROM clock_timestamp() - ${column}) * 1000)::double precision`);

/** Stores the state that a server has reported, without an event. */
export async function updateTask(
  db: Db,
  { turnId, step, index }: CallPlace,
  { status, message, pollMs }: TaskState,
): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET status = ${status}, message = ${message}, poll_ms = ${pollMs}::integer
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}

export async function moveTask(db: Db, { turnId, step, index }: CallPlace, session: McpSession | null): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET mcp_session = ${JSON.stringify(session)}::json
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}

/** Counts an attempt to read the result; `endTaskRead` takes it back. */
export async function beginTaskRead(db: Db, place: CallPlace): Promise<void> {
  await addLostReads(db, place, 1);
}

export async function endTaskRead(db: Db, place: CallPlace): Promise<void> {
  await addLostReads(db, place, -1);
}

async function addLostReads(db: Db, { turnId, step, index }: CallPlace, by: number): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET lost_reads = lost_reads + ${by}::integer
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}

/** Stores the state that a server has reported, with its `agent.tool_progress`. @throws TurnEndedError, OvertakenError */
export async function showProgress(
  deps: TurnDeps,
  { turnId, step, index }: CallPlace,
  { status, message, pollMs }: TaskState,
  event: NewEvent,
): Promise<void> {
  const events = newEvents([event]);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      task AS (
        UPDATE mcp_tasks m SET status = ${status}, message = ${message}, poll_ms = ${pollMs}::integer,
          shown_status = ${status}, shown_message = ${message}, shown_at = clock_timestamp()
        FROM turn, tool_calls c
        WHERE m.turn_id = turn.id AND m.step = ${step} AND m.index = ${index}
          AND c.turn_id = turn.id AND c.step = ${step} AND c.index = ${index} AND c.state = 'task'
        RETURNING m.turn_id, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = task.at
        FROM task WHERE turns.id = task.turn_id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  await writeTurn(deps, turnId, { statement, events, streamed: { attempt: 0, deltas: 0 } });
}

/** Stores that a task has ended on its server. Part of the transaction that stores the result of the call. */
export async function markEnded(tx: Db, { turnId, step, index }: CallPlace): Promise<void> {
  await runSql(
    tx,
    sql`UPDATE mcp_tasks SET ended_at = clock_timestamp()
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}
