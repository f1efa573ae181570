import type { EntityManager } from 'typeorm';
import { runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { EventData, NewEvent } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import { mayElicit } from '../sessions/tools.js';
import type { ActionKind } from '../sessions/required-actions.js';
import type { ActionState } from '../answers/actions.js';
import type { Answer } from '../answers/answer.js';
import type { ResultBlock } from '../models/content.js';
import { parseExact } from '../platform/exact-json.js';
import { CONTEXT, withToolsets, type ContextRow, type TurnContext } from './context.js';
import { setWaitingClock, startClock, stopClock } from '../turns/totals.js';
import { OvertakenError, TurnEndedError, type ActivityTask } from '../turns/turn.js';
import { changeTurn, running, writeTurn, type TurnDeps, type TurnWrite } from '../turns/write.js';

export interface ToolCallRow {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  name: string;
  input: Record<string, unknown>;
  /** pending → started (recorded before the call is sent) → task (its server works on it) → done */
  state: 'pending' | 'started' | 'task' | 'done';
  /** Servers may ask questions in the turn. */
  mayAsk: boolean;
  /** Present if the call needs an answer. */
  action: CallAction | null;
}

interface CallAction {
  kind: ActionKind;
  state: ActionState;
  answer: EventData[Answer['type']] | null;
}

type StoredCall = Omit<ToolCallRow, 'turnId' | 'step' | 'index' | 'input' | 'mayAsk'> & { input: string };

/**
 * Loads a tool call with its turn.
 * @throws TurnEndedError if the turn is missing, or older than its workflow (restored from a backup)
 */
export async function loadToolCall(
  db: Db,
  turnId: string,
  step: number,
  index: number,
): Promise<{ turn: TurnContext; call: ToolCallRow }> {
  const [row] = await runSql<ContextRow & { call: StoredCall | null }>(
    db,
    sql`SELECT (
          SELECT json_build_object('toolUseId', c.tool_use_id, 'name', name, 'input', input::text, 'state', c.state,
            'action', CASE WHEN a.kind IS NOT NULL
              THEN json_build_object('kind', a.kind, 'state', a.state, 'answer', e.data) END)
          FROM tool_calls c LEFT JOIN required_actions a USING (turn_id, step, index)
            LEFT JOIN events e ON e.session_id = turns.session_id AND e.turn_number = turns.number
              AND e.position = a.answer_position
          WHERE c.turn_id = turns.id AND c.step = ${step} AND c.index = ${index}) AS call,
          ${CONTEXT} WHERE turns.id = ${turnId}`,
  );
  if (row?.call == null) throw new TurnEndedError(turnId);
  const { call, ...turn } = row;
  return {
    turn: await withToolsets(db, turn),
    call: {
      turnId,
      step,
      index,
      ...call,
      input: parseExact(call.input) as ToolCallRow['input'],
      mayAsk: mayElicit(turn.toolsets),
    },
  };
}

/**
 * Records that the call is about to be sent to its server. May be repeated by the same attempt if the answer of Postgres
 * was lost.
 * @throws TurnEndedError, or OvertakenError if another attempt was first
 */
export async function startToolCall(deps: TurnDeps, call: ToolCallRow, task: ActivityTask): Promise<void> {
  const at = sql`call.at`;
  const counts = sql`, tools_running = turns.tools_running + 1, ${startClock('tools', at)}`;
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(call.turnId)} FOR NO KEY UPDATE),
      call AS (
        UPDATE tool_calls c SET state = 'started', started_at = coalesce(c.started_at, clock_timestamp()),
          worker_id = ${task.workerId}, task_token = ${task.token}
        FROM turn WHERE turn_id = turn.id AND step = ${call.step} AND index = ${call.index} AND state = ${call.state}
        RETURNING turn_id, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET progress_at = call.at ${call.state === 'pending' ? counts : sql``}
          ${call.action === null ? sql`` : sql`, ${stopClock('waiting', at)}`}
        FROM call WHERE turns.id = call.turn_id
        RETURNING turns.id)
    SELECT id FROM written`;
  try {
    await writeTurn(deps, call.turnId, { statement });
  } catch (error) {
    if (!(error instanceof OvertakenError) || !(await wasStartedBy(deps.db, call, task))) throw error;
  }
}

async function wasStartedBy(db: Db, { turnId, step, index }: ToolCallRow, task: ActivityTask): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`SELECT FROM tool_calls WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index} AND state = 'started'
        AND worker_id = ${task.workerId} AND task_token = ${task.token}`,
  );
  return rows.length > 0;
}

interface ToolOutcome {
  content: ResultBlock[];
  isError: boolean;
  /** Key of the object with the full text, if `content` is shortened. */
  overflowKey: string | null;
  /** The call's `agent.tool_result`; null if another event takes its place. */
  event: NewEvent | null;
  /** Events to store before the result, computed while the transaction holds the turn's lock. */
  eventsBefore?: (tx: EntityManager) => Promise<NewEvent[]>;
  /** Writes rows in the same transaction as the result. */
  commit?: (tx: EntityManager) => Promise<void>;
}

/** Stores the result of a call that ran. A second result for the same call changes nothing. */
export async function endToolCall(deps: TurnDeps, call: ToolCallRow, outcome: ToolOutcome): Promise<void> {
  const at = sql`call.at`;
  const isTask = call.state === 'task';
  await storeOutcome(deps, call, outcome, {
    from: isTask ? 'task' : 'started',
    set: sql`tools_running = turns.tools_running - 1, ${stopClock('tools', at, sql`turns.tools_running = 1`)}
      ${isTask ? sql`, tasks_running = turns.tasks_running - 1, ${stopClock('task', at, sql`turns.tasks_running = 1`)}` : sql``}
      ${call.action === null && !call.mayAsk ? sql`` : sql`, ${setWaitingClock(1, at)}`}`,
  });
}

/** Stores the result of a call that was answered, denied or expired. It never ran here. */
export async function closeToolCall(deps: TurnDeps, call: ToolCallRow, outcome: ToolOutcome): Promise<void> {
  await storeOutcome(deps, call, outcome, { from: 'pending', set: setWaitingClock(0, sql`call.at`) });
}

/** The state that a call leaves with its result, and the assignments to the turn's clocks, with `call.at` as the time. */
interface LastStep {
  from: ToolCallRow['state'];
  set: Sql;
}

async function storeOutcome(deps: TurnDeps, call: ToolCallRow, outcome: ToolOutcome, last: LastStep): Promise<void> {
  const { event, eventsBefore, commit } = outcome;
  const events = event === null ? [] : [event];
  try {
    if (eventsBefore === undefined && commit === undefined) {
      await writeTurn(deps, call.turnId, outcomeWrite(call, outcome, last, events));
      return;
    }
    await changeTurn(deps, call.turnId, async ({ tx, lock, write }) => {
      if (eventsBefore !== undefined) await lock(running(call.turnId));
      const before = (await eventsBefore?.(tx)) ?? [];
      await write(outcomeWrite(call, outcome, last, [...before, ...events]));
      await commit?.(tx);
    });
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
    const stored = await loadToolCall(deps.db, call.turnId, call.step, call.index);
    if (stored.call.state !== 'done') throw error;
  }
}

function outcomeWrite(
  call: ToolCallRow,
  { content, isError, overflowKey }: ToolOutcome,
  { from, set }: LastStep,
  newOnes: NewEvent[],
): TurnWrite {
  const events = newEvents(newOnes);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(call.turnId)} FOR NO KEY UPDATE),
      call AS (
        UPDATE tool_calls SET state = 'done', content = ${JSON.stringify(content)}::json, is_error = ${isError},
          overflow_key = ${overflowKey}, holds_task = NULL,
          ended_at = clock_timestamp()
        FROM turn WHERE turn_id = turn.id AND step = ${call.step} AND index = ${call.index} AND state = ${from}
        RETURNING turn_id, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = call.at, ${set}
        FROM call WHERE turns.id = call.turn_id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events, streamed: { attempt: 0, deltas: 0 } };
}
