import type { Db } from '../db/db.js';
import type { TurnFields } from '../db/entities/turns.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { McpSession } from '../mcp/client.js';
import type { TaskState, TaskStatus } from '../mcp/tasks.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { CallPlace } from '../turns/facts.js';
import type { ActivityTask } from './model-call.js';
import { OPEN_TASKS_OF_PROJECT } from './open-tasks.js';
import type { ToolCallRow } from './tool-call.js';

/** A task to store with its call. The message is cleaned and short. */
export interface NewTask extends TaskState {
  taskId: string;
  serverId: string;
  /** The MCP session that the task belongs to; null for a server without sessions. */
  session: McpSession | null;
}

const BEGIN_TASK = `
  UPDATE tool_calls SET state = 'task'
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = 'started' AND task_token = $4`;
const INSERT_TASK = `
  INSERT INTO mcp_tasks (turn_id, step, index, server_id, task_id, mcp_session, status, message, poll_ms, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

/**
 * Stores the task that a server has begun for a call. May be repeated by the same attempt.
 * @throws TurnEndedError, or OvertakenError if another attempt stored an outcome
 */
export async function storeTask(
  deps: TurnDeps,
  { turnId, step, index }: ToolCallRow,
  task: NewTask,
  { token }: ActivityTask,
): Promise<void> {
  const session = JSON.stringify(task.session);
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [, begun] = await tx.query<[unknown, number]>(BEGIN_TASK, [turnId, step, index, Buffer.from(token)]);
    if (begun === 0) {
      const stored = await loadTask(tx, { turnId, step, index });
      if (stored.task?.taskId !== task.taskId) throw new OvertakenError(turnId);
      return turn.stayStill();
    }
    const state = [task.status, task.message, task.pollMs];
    write(tx, INSERT_TASK, [turnId, step, index, task.serverId, task.taskId, session, ...state, turn.at]);
  });
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
  /** Since the last poll together with other tasks; null without one. */
  askedAgoMs: number | null;
  lostReads: number;
  mayAsk: boolean;
  /** Of its server: open, or answered and not delivered. */
  hasQuestions: boolean;
}

/** The call of a task, with the fields of its turn that a question needs. */
export interface TaskCall {
  turn: Pick<TurnFields, 'id' | 'sessionId' | 'projectId' | 'state'>;
  /** Of the project, all its turns together. */
  openTasks: number;
  call: Pick<ToolCallRow, 'toolUseId' | 'name' | 'state'>;
  task: TaskRow | null;
}

const TURN = sql`json_build_object('id', turns.id, 'sessionId', session_id, 'projectId', turns.project_id,
    'state', turns.state) AS turn,
  ${OPEN_TASKS_OF_PROJECT} AS "openTasks"`;
const CALL = sql`json_build_object('toolUseId', tool_use_id, 'name', name, 'state', c.state)`;
const TASK = sql`json_build_object('taskId', task_id, 'serverId', server_id,
  'session', mcp_session, 'status', status, 'message', message, 'pollMs', poll_ms, 'lostReads', lost_reads,
  'shownStatus', shown_status, 'shownMessage', shown_message, 'shownAgoMs', (extract(epoch FROM clock_timestamp() - shown_at) * 1000)::double precision,
  'askedAgoMs', (extract(epoch FROM clock_timestamp() - asked_at) * 1000)::double precision, 'ageMs', (extract(epoch FROM clock_timestamp() - c.started_at) * 1000)::double precision, 'storedAgoMs', (extract(epoch FROM clock_timestamp() - m.created_at) * 1000)::double precision,
  'mayAsk', EXISTS (
    SELECT FROM json_array_elements(tools) AS entry
    WHERE entry->>'mcp_server_id' = server_id AND entry->>'elicitation' = 'true'),
  'hasQuestions', EXISTS (
    SELECT FROM elicitations q WHERE q.turn_id = turns.id AND q.step = m.step AND q.index = m.index
      AND (q.state = 'open' OR q.state IN ('answered', 'expired') AND q.delivered_at IS NULL)))`;

/** @throws TurnEndedError if the turn or the call is missing */
export async function loadTask(db: Db, { turnId, step, index }: CallPlace): Promise<TaskCall> {
  const [row] = await runSql<TaskCall>(
    db,
    sql`SELECT ${TURN}, ${CALL} AS call, CASE WHEN task_id IS NOT NULL THEN ${TASK} END AS task
        FROM turns JOIN sessions ON sessions.id = turns.session_id JOIN tool_calls c ON c.turn_id = turns.id
          LEFT JOIN mcp_tasks m USING (turn_id, step, index)
        WHERE turns.id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return row;
}

export interface OpenTask extends Pick<TaskCall, 'call'> {
  index: number;
  task: TaskRow;
}

/** The open tasks among these calls, those first that were not asked for the longest. @throws TurnEndedError */
export async function loadTasks(
  db: Db,
  { turnId, step }: Pick<CallPlace, 'turnId' | 'step'>,
  indices: number[],
): Promise<Pick<TaskCall, 'turn' | 'openTasks'> & { tasks: OpenTask[] }> {
  const [row] = await runSql<Pick<TaskCall, 'turn' | 'openTasks'> & { tasks: OpenTask[] }>(
    db,
    sql`SELECT ${TURN}, coalesce((
          SELECT json_agg(json_build_object('index', index, 'call', ${CALL}, 'task', ${TASK})
            ORDER BY asked_at NULLS FIRST, index)
          FROM tool_calls c JOIN mcp_tasks m USING (turn_id, step, index)
          WHERE c.turn_id = turns.id AND step = ${step} AND index = ANY(${indices}::integer[]) AND c.state = 'task'), '[]') AS tasks
        FROM turns JOIN sessions ON sessions.id = turns.session_id WHERE turns.id = ${turnId}`,
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return row;
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

/** Stores that a task has ended on its server. Part of the transaction that stores the result of the call. */
export async function markEnded(tx: Db, { turnId, step, index }: CallPlace): Promise<void> {
  await runSql(
    tx,
    sql`UPDATE mcp_tasks SET ended_at = clock_timestamp()
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}
