import type { EntityManager } from 'typeorm';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Answer, CallUsage } from '../models/content.js';
import { stopClock } from '../turns/totals.js';
import { writeTurn, type LockedTurn, type TurnChange, type TurnDeps } from '../turns/write.js';
import { NO_USAGE, type ModelCall, type ModelFailure } from './model-call.js';

/** Records the usage of a call when it starts, and its first token, so that they count even if the process dies. */
export async function recordUsage(
  deps: TurnDeps,
  call: ModelCall,
  usage: CallUsage,
  firstTokenMs: number | null,
): Promise<void> {
  const guard = sql`
    UPDATE model_attempts SET usage = ${JSON.stringify(usage)}::json FROM turn AS source
    WHERE ${rowOf(call)} AND usage IS NULL RETURNING turn_id`;
  call.recorded = null;
  const set = [addUsage(NO_USAGE, usage), setFirstToken(firstTokenMs)];
  await writeTurn(deps, call.turnId, { from: 'running' }, { set, guard });
  call.recorded = usage;
}

/**
 * The change at the end of a call. If it is in doubt whether the usage at its start was recorded, the change reads it under
 * the turn's lock: what was not committed by then is refused afterwards.
 */
export function changeOfEnd(
  call: ModelCall,
  change: () => TurnChange,
): TurnChange | ((turn: LockedTurn, tx: EntityManager) => Promise<TurnChange>) {
  if (call.recorded !== null) return change();
  return async (turn, tx) => {
    const [row] = await runSql<{ usage: CallUsage | null }>(
      tx,
      sql`SELECT usage FROM model_attempts WHERE turn_id = ${turn.id} AND position = ${call.position} AND attempt = ${call.attempt}`,
    );
    call.recorded = row?.usage ?? NO_USAGE;
    return change();
  };
}

/** Records the usage of a call that ended without an outcome, and the reason if the model failed. */
export async function endModelCall(
  deps: TurnDeps,
  call: ModelCall,
  answer: Answer,
  failure: ModelFailure | null,
): Promise<void> {
  const guard = sql`${endOfCall(call, answer, failure, 'turn')} RETURNING turn_id`;
  const change = changeOfEnd(call, () => ({ set: spend(call, answer), guard }));
  await writeTurn(deps, call.turnId, { from: 'running' }, change);
}

/**
 * The statement that finishes the row of a call. It reads from the turn before (`turn`) or after the write (`written`).
 */
export function endOfCall(
  call: ModelCall,
  answer: Answer,
  failure: ModelFailure | null,
  source: 'turn' | 'written',
): Sql {
  return sql`
    UPDATE model_attempts SET ended_at = clock_timestamp(), usage = ${JSON.stringify(answer.usage)}::json,
      error = ${failure === null ? null : JSON.stringify(failure)}::json
    FROM ${rawSql(source)} AS source WHERE ${rowOf(call)}`;
}

/** Adds a call's usage to the turn's totals. Only the latest call stops the clock. */
export function spend(call: ModelCall, { usage, firstTokenMs }: Answer): Sql[] {
  return [
    addUsage(call.recorded ?? NO_USAGE, usage),
    setFirstToken(firstTokenMs),
    stopClock('model', sql`turns.model_calls = ${call.call}`),
  ];
}

/** The first token that a reader saw counts, also that of a call that failed. */
function setFirstToken(afterMs: number | null): Sql {
  return sql`first_token_at = coalesce(turns.first_token_at,
    turns.model_started_at + ${afterMs}::double precision * interval '1 ms')`;
}

function rowOf({ position, attempt }: ModelCall): Sql {
  return sql`turn_id = source.id AND model_attempts.position = ${position} AND attempt = ${attempt}`;
}

function addUsage(recorded: CallUsage, usage: CallUsage): Sql {
  const more = (field: keyof CallUsage): number => usage[field] - recorded[field];
  return sql`input_tokens = turns.input_tokens + ${more('input_tokens')}::bigint,
    output_tokens = turns.output_tokens + ${more('output_tokens')}::bigint,
    cache_read_input_tokens = turns.cache_read_input_tokens + ${more('cache_read_input_tokens')}::bigint,
    cache_creation_input_tokens = turns.cache_creation_input_tokens + ${more('cache_creation_input_tokens')}::bigint`;
}
