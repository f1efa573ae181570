import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { EventData, NewEvent } from '../events/schema.js';
import { serversMayAsk } from '../sessions/tools.js';
import type { Storage } from '../files/storage.js';
import { textOf, type ResultBlock } from '../models/content.js';
import { parseExact } from '../platform/exact-json.js';
import { storableText, truncateUtf8 } from '../platform/text.js';
import { CONTEXT, withToolsets, type ContextRow, type TurnContext } from './context.js';
import { changeTurn, ifRunning, type Fence, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { AttemptId } from './model-call.js';
import type { Turn } from '../turns/turn.js';
import type { CallWait, WaitResult } from '../waits/unrun-result.js';
import { limitResult } from './shorten-result.js';

/** Bytes of a result's text in `agent.tool_result` (decisions.md "Turns and events"). */
const MAX_EVENT_BYTES = 16 * 1024;

export interface ToolCallRow {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  name: string;
  /** What it runs with. */
  input: Record<string, unknown>;
  /** The same as JSON text, if a person has changed what the model wrote; null otherwise. */
  changedInput: string | null;
  /** pending → started (recorded before the call is sent) → task (its server works on it) → done */
  state: 'pending' | 'started' | 'task' | 'done';
  /** Servers may ask questions in the turn. */
  mayAsk: boolean;
  /** What the call waits or waited for last; null: nothing. */
  wait: CallWait | null;
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
          SELECT json_build_object('toolUseId', c.tool_use_id, 'name', name, 'input', input::text, 'changedInput', changed_input::text, 'state', c.state,
            'wait', (
              SELECT json_build_object('kind', w.kind, 'outcome', w.outcome, 'answer', (
                SELECT e.data FROM events e WHERE e.session_id = turns.session_id AND e.turn_number = turns.number
                  AND e.position = w.answer_position))
              FROM waits w WHERE w.turn_id = c.turn_id AND w.step = c.step AND w.index = c.index AND NOT w.during_call
              ORDER BY w.asked_at DESC NULLS FIRST, w.id DESC LIMIT 1))
          FROM tool_calls c
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
      input: parseExact(call.changedInput ?? call.input) as ToolCallRow['input'],
      mayAsk: serversMayAsk(turn.toolsets),
    },
  };
}

const START_CALL = `
  UPDATE tool_calls SET state = 'started', started_at = coalesce(started_at, clock_timestamp()), worker_id = $5, task_token = $6
  WHERE turn_id = $1 AND step = $2 AND index = $3
    AND (state = $4 OR (state = 'started' AND worker_id = $5 AND task_token = $6))`;

/** A call that would begin in a turn whose cancel was requested does not: the turn is about to end. */
const ifGoingOn: Fence = (turn) => ifRunning(turn) && !turn.cancelRequested;

/**
 * Records that the call is about to be sent to its server. May be repeated by the same attempt if the answer of Postgres
 * was lost.
 * @throws TurnEndedError, or OvertakenError if another attempt was first or a cancel was requested
 */
export async function startToolCall(
  deps: TurnDeps,
  { turnId, step, index, state }: ToolCallRow,
  { workerId, token }: AttemptId,
): Promise<void> {
  const values = [turnId, step, index, state, workerId, Buffer.from(token)];
  const requireStarted = (_: Turn, __: Tx, [, started]: [unknown, number]): void => {
    if (started === 0) throw new OvertakenError(turnId);
  };
  await changeTurn(deps, turnId, ifGoingOn, requireStarted, { ahead: (tx) => tx.query(START_CALL, values) });
}

/** The fields of `agent.tool_result` that only some tools have. */
type ShownOfCall = Omit<
  EventData['agent.tool_result'],
  'tool_use_id' | 'name' | 'is_error' | 'content' | 'input' | 'truncated'
>;

type Decided = Pick<ToolResult, 'content' | 'isError' | 'shown'>;

/** What a tool call came to. */
export interface ToolResult {
  content: ResultBlock[];
  isError: boolean;
  /** What else the event shows of the call. */
  shown?: ShownOfCall;
  /** Bytes of the end of the text that stay if it is too long for the model. */
  endBytes?: number;
  /**
   * Finds the result in the transaction that stores it, for a call whose effect is in the database alone: both are stored together. Its
   * text must not need to be shortened. Runs again after a deadlock.
   */
  decide?: (tx: Tx) => Promise<Decided>;
  /** Runs once the result is stored. */
  stored?: () => void;
  /** Events to store right before `agent.tool_result`. Called while the transaction holds the turn's lock. */
  eventsBefore?: (tx: Tx) => Promise<NewEvent[]>;
  /** Runs in the transaction that stores the result, so these rows and the result are stored together. */
  commit?: (tx: Tx) => Promise<void>;
  /** The result to store instead if `commit` or `decide` fails with this error. Throws errors that it has no result for. */
  refused?: (error: unknown) => ToolResult;
}

/** The part of a result that is stored in one way, whether the call ran or not. */
type StoredResult = Pick<
  ToolResult,
  'content' | 'isError' | 'endBytes' | 'eventsBefore' | 'commit' | 'decide' | 'stored'
> & {
  /** Null if another event takes the place of `agent.tool_result`. */
  eventOf: (result: ToolResult) => NewEvent | null;
};

type StoreDeps = TurnDeps & { storage: Storage };

/**
 * Stores the result of a call that ran, with its events. A second result of the same call changes nothing.
 * @param by the attempt that ran it: only the one that started the call last may store rows beside the result
 */
export async function storeToolResult(
  deps: StoreDeps,
  call: ToolCallRow,
  given: ToolResult,
  by?: AttemptId,
): Promise<void> {
  const result = withStorableText(given);
  const { refused } = result;
  const from = call.state === 'task' ? 'task' : 'started';
  try {
    const eventOf = (found: ToolResult): NewEvent => resultEvent(call, { ...result, ...found });
    const isBound = result.commit !== undefined || result.decide !== undefined;
    await storeWithEvents(deps, call, from, { ...result, eventOf }, isBound ? by : undefined);
  } catch (error) {
    if (refused === undefined) throw error;
    await storeToolResult(deps, call, refused(error), by);
  }
}

/** Stores the result of a call that the service does not run: a client's result, a denial, or an expired wait. */
export async function storeUnrunCall(
  deps: StoreDeps,
  call: ToolCallRow,
  { text, isError, isClientResult }: WaitResult,
): Promise<void> {
  const result = withStorableText({ content: [{ type: 'text', text }], isError });
  // The client's event already has its result.
  await storeWithEvents(deps, call, 'pending', {
    ...result,
    eventOf: (found) => (isClientResult === true ? null : resultEvent(call, found)),
  });
}

/** Whatever a tool returns: the event and the model's next request have the same text. */
function withStorableText<Result extends Pick<ToolResult, 'content'>>(result: Result): Result {
  const content = result.content.map((block) =>
    block.type === 'text' ? { ...block, text: storableText(block.text) } : block,
  );
  return { ...result, content };
}

const STORE_RESULT = `
  UPDATE tool_calls
  SET state = 'done', content = $5, is_error = $6, overflow_key = $7, holds_task = NULL, ended_at = clock_timestamp()
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = $4 AND ($8::bytea IS NULL OR task_token = $8)`;

/**
 * @param from the state that the call leaves with its result
 * @param by the attempt, if no other one may have started the call after it: the rows that it writes may be out of date
 */
async function storeWithEvents(
  deps: StoreDeps,
  call: ToolCallRow,
  from: ToolCallRow['state'],
  { content, isError, endBytes, eventOf, eventsBefore, commit, decide, stored }: StoredResult,
  by?: AttemptId,
): Promise<void> {
  const { turnId, step, index } = call;
  const kept = await limitResult(deps.storage, call, content, endBytes);
  const token = by === undefined ? null : Buffer.from(by.token);
  const update = (tx: Tx, result: Decided): Promise<[unknown, number]> => {
    const text = JSON.stringify(result.content);
    return tx.query(STORE_RESULT, [turnId, step, index, from, text, result.isError, kept.overflowKey, token]);
  };
  try {
    const work = async (turn: Turn, tx: Tx, ahead: [unknown, number] | null): Promise<void> => {
      const found = decide === undefined ? { content, isError } : withStorableText(await decide(tx));
      const [, changed] = ahead ?? (await update(tx, found));
      if (changed === 0) throw new OvertakenError(turnId);
      const event = eventOf(found);
      turn.append(...((await eventsBefore?.(tx)) ?? []), ...(event === null ? [] : [event]));
      turn.streamed = { call: 0, deltas: 0 };
      await commit?.(tx);
    };
    await changeTurn(deps, turnId, ifRunning, work, {
      ahead: async (tx) => (decide === undefined ? update(tx, { content: kept.content, isError }) : null),
    });
    stored?.();
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
    const found = await loadToolCall(deps.db, turnId, step, index);
    if (found.call.state !== 'done') throw error;
  }
}

function resultEvent(
  { toolUseId, name, changedInput }: ToolCallRow,
  { content, isError, shown }: ToolResult,
): NewEvent {
  const text = textOf(content);
  const start = truncateUtf8(text, MAX_EVENT_BYTES);
  return {
    type: 'agent.tool_result',
    data: {
      tool_use_id: toolUseId,
      name,
      is_error: isError,
      content: start,
      ...(changedInput !== null && { input: parseExact(changedInput) as ToolCallRow['input'] }),
      ...(start.length < text.length && { truncated: true as const }),
      ...shown,
    },
  };
}
