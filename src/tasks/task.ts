import type { Db } from '../db/db.js';
import type { TurnFields } from '../db/entities/turns.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { McpSession } from '../mcp/client.js';
import type { TaskState, TaskStatus } from '../mcp/tasks.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { CallPlace } from '../turns/facts.js';
import type { AttemptId } from '../steps/model-call.js';
import { isUndelivered } from '../waits/question.js';
import { OPEN_TASKS_OF_PROJECT } from './open.js';
import type { ToolCallRow } from '../steps/tool-call.js';

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
const FIND_TASK = 'SELECT task_id FROM mcp_tasks WHERE turn_id = $1 AND step = $2 AND index = $3';
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
  { token }: AttemptId,
): Promise<void> {
  const session = JSON.stringify(task.session);
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [, begun] = await tx.query<[unknown, number]>(BEGIN_TASK, [turnId, step, index, Buffer.from(token)]);
    if (begun === 0) {
      const [stored] = await tx.query<{ task_id: string }[]>(FIND_TASK, [turnId, step, index]);
      if (stored?.task_id !== task.taskId) throw new OvertakenError(turnId);
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
  /** Since the last poll; null if the next one is due whatever the pause. */
  askedAgoMs: number | null;
  lostReads: number;
  mayAsk: boolean;
  /** Of its server: open, or answered and not delivered. */
  hasQuestions: boolean;
}

interface TasksOfTurn {
  turn: Pick<TurnFields, 'id' | 'projectId' | 'state'>;
  /** Of the project, all its turns together. */
  openTasks: number;
  tasks: OpenTask[];
  done: number[];
}

const TURN = sql`json_build_object('id', turns.id, 'projectId', turns.project_id, 'state', turns.state) AS turn,
  ${OPEN_TASKS_OF_PROJECT} AS "openTasks"`;
const CALL = sql`json_build_object('toolUseId', tool_use_id, 'name', name, 'state', c.state, 'changedInput', c.changed_input::text)`;
const TASK = sql`json_build_object('taskId', task_id, 'serverId', server_id,
  'session', mcp_session, 'status', status, 'message', message, 'pollMs', poll_ms, 'lostReads', lost_reads,
  'shownStatus', shown_status, 'shownMessage', shown_message, 'shownAgoMs', (extract(epoch FROM clock_timestamp() - shown_at) * 1000)::double precision,
  'askedAgoMs', (extract(epoch FROM clock_timestamp() - asked_at) * 1000)::double precision, 'ageMs', (extract(epoch FROM clock_timestamp() - c.started_at) * 1000)::double precision, 'storedAgoMs', (extract(epoch FROM clock_timestamp() - m.created_at) * 1000)::double precision,
  'mayAsk', EXISTS (
    SELECT FROM json_array_elements(configurations.tools) AS entry
    WHERE entry->>'mcp_server_id' = server_id AND entry->>'elicitation' = 'true'),
  'hasQuestions', EXISTS (
    SELECT FROM waits q WHERE q.turn_id = turns.id AND q.step = m.step AND q.index = m.index AND ${rawSql(isUndelivered('q'))}))`;

/** The task of a call that has no result yet. */
export interface OpenTask {
  index: number;
  call: Pick<ToolCallRow, 'toolUseId' | 'name' | 'state' | 'changedInput'>;
  task: TaskRow;
}

/**
 * Loads the open tasks of these calls, those first that were not asked for the longest, and which of the calls have a result.
 * @throws TurnEndedError if the turn does not run, or is older than its workflow (restored from a backup)
 */
export async function loadTasks(
  db: Db,
  { turnId, step }: Pick<CallPlace, 'turnId' | 'step'>,
  indices: number[],
): Promise<TasksOfTurn> {
  const [row] = await runSql<TasksOfTurn>(
    db,
    sql`SELECT ${TURN}, array(
          SELECT index FROM tool_calls c
          WHERE c.turn_id = turns.id AND step = ${step} AND index = ANY(${indices}::integer[]) AND c.state = 'done') AS done,
          coalesce((
          SELECT json_agg(json_build_object('index', index, 'call', ${CALL}, 'task', ${TASK})
            ORDER BY asked_at NULLS FIRST, index)
          FROM tool_calls c JOIN mcp_tasks m USING (turn_id, step, index)
          WHERE c.turn_id = turns.id AND step = ${step} AND index = ANY(${indices}::integer[]) AND c.state = 'task'), '[]') AS tasks
        FROM turns JOIN configurations ON configurations.id = turns.configuration_id WHERE turns.id = ${turnId}`,
  );
  if (row?.turn.state !== 'running' || row.tasks.length + row.done.length < indices.length)
    throw new TurnEndedError(turnId, row?.turn.state);
  return row;
}

export async function moveTask(db: Db, { turnId, step, index }: CallPlace, session: McpSession | null): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET mcp_session = ${JSON.stringify(session)}::json
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
}

/** The next poll of the task does not wait for its pause: its server has got an answer. */
export async function pollSoon(db: Db, { turnId, step, index }: CallPlace): Promise<void> {
  await runSql(
    db,
    sql`UPDATE mcp_tasks SET asked_at = NULL WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
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
