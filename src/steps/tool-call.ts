import type { EntityManager } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { EventData, NewEvent } from '../events/schema.js';
import { mayElicit } from '../sessions/tools.js';
import type { ActionKind } from '../sessions/required-actions.js';
import type { ActionState } from '../answers/actions.js';
import type { AuthorizationState } from '../answers/authorization-wait.js';
import type { UserAnswer } from '../answers/answer.js';
import type { ResultBlock } from '../models/content.js';
import { parseExact } from '../platform/exact-json.js';
import { CONTEXT, withToolsets, type ContextRow, type TurnContext } from './context.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { ActivityTask } from './model-call.js';

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
  /** Present if the call waits or has waited until the session's user authorized its server. */
  authorization: { state: AuthorizationState; answer: EventData['user.tool_confirmation'] | null } | null;
}

interface CallAction {
  kind: ActionKind;
  state: ActionState;
  answer: EventData[UserAnswer['type']] | null;
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
              THEN json_build_object('kind', a.kind, 'state', a.state, 'answer', e.data) END,
            'authorization', (
              SELECT json_build_object('state', w.state, 'answer', (
                SELECT d.data FROM events d WHERE d.session_id = turns.session_id AND d.turn_number = turns.number
                  AND d.position = w.answer_position))
              FROM authorization_waits w WHERE w.turn_id = c.turn_id AND w.step = c.step AND w.index = c.index ORDER BY n DESC LIMIT 1))
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

const START_CALL = `
  UPDATE tool_calls SET state = 'started', started_at = coalesce(started_at, $5), worker_id = $6, task_token = $7
  WHERE turn_id = $1 AND step = $2 AND index = $3
    AND (state = $4 OR (state = 'started' AND worker_id = $6 AND task_token = $7))`;

/**
 * Records that the call is about to be sent to its server. May be repeated by the same attempt if the answer of Postgres
 * was lost.
 * @throws TurnEndedError, or OvertakenError if another attempt was first
 */
export async function startToolCall(
  deps: TurnDeps,
  { turnId, step, index, state }: ToolCallRow,
  { workerId, token }: ActivityTask,
): Promise<void> {
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const values = [turnId, step, index, state, turn.at, workerId, Buffer.from(token)];
    const [, started] = await tx.query<[unknown, number]>(START_CALL, values);
    if (started === 0) throw new OvertakenError(turnId);
  });
}

interface ToolOutcome {
  content: ResultBlock[];
  isError: boolean;
  /** Key of the object with the full text, if `content` is shortened. */
  overflowKey: string | null;
  /** The call's `agent.tool_result`; null if another event takes its place. */
  event: NewEvent | null;
  /** Events to store before the result, computed while the transaction holds the turn’s lock. */
  eventsBefore?: (tx: EntityManager) => Promise<NewEvent[]>;
  /** Writes rows in the same transaction as the result. */
  commit?: (tx: EntityManager) => Promise<void>;
}

const STORE_RESULT = `
  UPDATE tool_calls
  SET state = 'done', content = $5, is_error = $6, overflow_key = $7, holds_task = NULL, ended_at = $8
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = $4 AND ($9::bytea IS NULL OR task_token = $9)`;

/**
 * Stores the result of a call that ran. A second result for the same call changes nothing.
 * @param by the attempt, if no other one may have started the call after it: the rows that it writes may be out of date
 */
export async function endToolCall(
  deps: TurnDeps,
  call: ToolCallRow,
  outcome: ToolOutcome,
  by?: ActivityTask,
): Promise<void> {
  await storeOutcome(deps, call, outcome, call.state === 'task' ? 'task' : 'started', by);
}

/** Stores the result of a call that was answered, denied or expired. It never ran here. */
export async function closeToolCall(deps: TurnDeps, call: ToolCallRow, outcome: ToolOutcome): Promise<void> {
  await storeOutcome(deps, call, outcome, 'pending');
}

/** @param from the state that the call leaves with its result */
async function storeOutcome(
  deps: TurnDeps,
  { turnId, step, index }: ToolCallRow,
  { content, isError, overflowKey, event, eventsBefore, commit }: ToolOutcome,
  from: ToolCallRow['state'],
  by?: ActivityTask,
): Promise<void> {
  const token = by === undefined ? null : Buffer.from(by.token);
  const result = JSON.stringify(content);
  try {
    await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
      const values = [turnId, step, index, from, result, isError, overflowKey, turn.at, token];
      const [, stored] = await tx.query<[unknown, number]>(STORE_RESULT, values);
      if (stored === 0) throw new OvertakenError(turnId);
      turn.append(...((await eventsBefore?.(tx)) ?? []), ...(event === null ? [] : [event]));
      turn.streamed = { call: 0, deltas: 0 };
      await commit?.(tx);
    });
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
    const stored = await loadToolCall(deps.db, turnId, step, index);
    if (stored.call.state !== 'done') throw error;
  }
}
