import type { EntityManager } from 'typeorm';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import type { ResultBlock } from './content.js';
import { startClock, stopClock } from './totals.js';
import { OvertakenError, TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** A tool call as its row has it. */
export interface ToolCallRow {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  name: string;
  input: Record<string, unknown>;
  /** pending → started (about to leave for its server) → done */
  state: 'pending' | 'started' | 'done';
}

/** Loads a tool call. @throws TurnEndedError when its turn is gone, or older than its workflow (restored from a backup) */
export async function loadToolCall(db: Db, turnId: string, step: number, index: number): Promise<ToolCallRow> {
  const [row] = await runSql<Pick<ToolCallRow, 'toolUseId' | 'name' | 'input' | 'state'>>(
    db,
    sql`SELECT tool_use_id AS "toolUseId", name, input, state FROM tool_calls
        WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}`,
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return { turnId, step, index, ...row };
}

/**
 * Records that the call is about to leave for its server.
 * @throws TurnEndedError, OvertakenError when another attempt was faster
 */
export async function startToolCall(deps: TurnDeps, call: ToolCallRow): Promise<void> {
  const guard = sql`
    UPDATE tool_calls SET state = 'started', started_at = coalesce(tool_calls.started_at, clock_timestamp())
    FROM turn WHERE ${rowOf(call)} AND state = ${call.state} RETURNING index`;
  const set = call.state === 'pending' ? [rawSql('tools_running = turns.tools_running + 1'), START_CLOCK] : [];
  await writeTurn(deps, call.turnId, { from: 'running' }, { set, guard });
}

/** What is stored of a call that is done. */
export interface ToolOutcome {
  content: ResultBlock[];
  isError: boolean;
  /** The object with the whole text, if `content` holds a part of it only. */
  overflowKey: string | null;
  /** The call's `agent.tool_result`. */
  event: NewEvent;
  /** Events to store before it; decided while the transaction holds the turn's lock. */
  eventsBefore?: (tx: EntityManager) => Promise<NewEvent[]>;
  /** Writes rows that exist exactly when the result does. */
  commit?: (tx: EntityManager) => Promise<void>;
}

/** Stores a call's result with its events, once: a second result of the same call changes nothing. */
export async function endToolCall(deps: TurnDeps, call: ToolCallRow, outcome: ToolOutcome): Promise<void> {
  const { content, isError, overflowKey, event, eventsBefore, commit: also } = outcome;
  const guard = sql`
    UPDATE tool_calls SET state = 'done', content = ${JSON.stringify(content)}::json, is_error = ${isError},
      overflow_key = ${overflowKey}, ended_at = clock_timestamp()
    FROM turn WHERE ${rowOf(call)} AND state = 'started' RETURNING index`;
  const set = [stopClock('tools', rawSql('turns.tools_running = 1')), rawSql('tools_running = turns.tools_running - 1')];
  const alone = { events: [event], set, guard, also };
  const change =
    eventsBefore === undefined
      ? alone
      : async (_turn: unknown, tx: EntityManager) => ({ ...alone, events: [...(await eventsBefore(tx)), event] });
  try {
    await writeTurn(deps, call.turnId, { from: 'running' }, change);
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
    const { state } = await loadToolCall(deps.db, call.turnId, call.step, call.index);
    if (state !== 'done') throw error;
  }
}

/** The clock runs while at least one tool call does. */
const START_CLOCK = startClock('tools');

function rowOf({ step, index }: ToolCallRow) {
  return sql`turn_id = turn.id AND step = ${step} AND index = ${index}`;
}
