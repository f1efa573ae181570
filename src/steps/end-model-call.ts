import type { EntityManager } from 'typeorm';
import { runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { Answer, CallUsage, TokenKind } from '../models/content.js';
import { stopClock } from '../turns/totals.js';
import { changeTurn, running, writeTurn, type TurnDeps, type TurnTransaction } from '../turns/write.js';
import { priceCall } from './called-model.js';
import { NO_USAGE, type ModelCall, type ModelFailure } from './model-call.js';

/** Records the usage of a call when it starts, and its first token, so that they count even if the process dies. */
export async function recordUsage(
  deps: TurnDeps,
  call: ModelCall,
  usage: CallUsage,
  firstTokenMs: number | null,
): Promise<void> {
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(call.turnId)} FOR NO KEY UPDATE),
      call AS (
        UPDATE model_attempts a SET ${setUsage(call, usage)} FROM turn
        WHERE a.turn_id = turn.id AND a.position = ${call.position} AND a.attempt = ${call.attempt} AND usage IS NULL
        RETURNING turn_id, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET progress_at = call.at, ${addUsage(call, NO_USAGE, usage)}, ${setFirstToken(firstTokenMs)}
        FROM call WHERE turns.id = call.turn_id
        RETURNING turns.id)
    SELECT id FROM written`;
  call.recorded = null;
  await writeTurn(deps, call.turnId, { statement });
  call.recorded = usage;
}

/**
 * Runs the write that ends a call, with other work in its transaction if it must lock the turn first. If it is in doubt whether the usage at its start was recorded, it is read first, under
 * the turn's lock: what was not committed by then is refused afterwards.
 */
export function endingCall<T>(
  deps: TurnDeps,
  call: ModelCall,
  fence: Sql,
  end: (write: TurnTransaction['write'], tx: EntityManager | null) => Promise<T>,
  { mustLock } = { mustLock: false },
): Promise<T> {
  if (call.recorded !== null && !mustLock) return end((write) => writeTurn(deps, call.turnId, write), null);
  return changeTurn(deps, call.turnId, async ({ tx, lock, write }) => {
    await lock(fence);
    call.recorded ??= await readUsage(tx, call);
    return end(write, tx);
  });
}

async function readUsage(db: Db, { turnId, position, attempt }: ModelCall): Promise<CallUsage> {
  const [row] = await runSql<{ usage: CallUsage | null }>(
    db,
    sql`SELECT usage FROM model_attempts WHERE turn_id = ${turnId} AND position = ${position} AND attempt = ${attempt}`,
  );
  return row?.usage ?? NO_USAGE;
}

/** Records the usage of a call that ended without an outcome, and the reason if the model failed. */
export async function endModelCall(
  deps: TurnDeps,
  call: ModelCall,
  answer: Answer,
  failure: ModelFailure | null,
): Promise<void> {
  const fence = running(call.turnId);
  await endingCall(deps, call, fence, (write) => {
    const statement = sql`
      WITH turn AS MATERIALIZED (
          SELECT id FROM turns WHERE ${fence} FOR NO KEY UPDATE),
        call AS (
          UPDATE model_attempts a SET ended_at = clock_timestamp(), ${setUsage(call, answer.usage)},
            error = ${failure === null ? null : JSON.stringify(failure)}::json
          FROM turn WHERE a.turn_id = turn.id AND a.position = ${call.position} AND a.attempt = ${call.attempt}
          RETURNING turn_id, clock_timestamp() AS at),
        written AS (
          UPDATE turns SET progress_at = call.at, ${spend(call, answer, sql`call.at`)}
          FROM call WHERE turns.id = call.turn_id
          RETURNING turns.id)
      SELECT id FROM written`;
    return write({ statement });
  });
}

/** Assignments that add a call's usage to the turn's totals at its end. Only the latest call stops the clock. */
export function spend(call: ModelCall, { usage, firstTokenMs }: Answer, at: Sql): Sql {
  return sql`${addUsage(call, call.recorded ?? NO_USAGE, usage)}, ${setFirstToken(firstTokenMs)},
    ${stopClock('model', at, sql`turns.model_calls = ${call.call}`)}`;
}

/** The first token that a reader saw counts, also that of a call that failed. */
function setFirstToken(afterMs: number | null): Sql {
  return sql`first_token_at = coalesce(turns.first_token_at,
    turns.model_started_at + ${afterMs}::double precision * interval '1 ms')`;
}

export function setUsage({ model }: ModelCall, usage: CallUsage): Sql {
  return sql`usage = ${JSON.stringify(usage)}::json, cost = ${priceCall(model, usage)}::numeric`;
}

/** A call without a price, or with one in another currency, adds no cost: the turn is marked since the call began. */
function addUsage({ model }: ModelCall, recorded: CallUsage, usage: CallUsage): Sql {
  const more = (field: TokenKind): number => usage[field] - recorded[field];
  const moreEstimated = Number(usage.estimated === true) - Number(recorded.estimated === true);
  return sql`estimated_calls = turns.estimated_calls + ${moreEstimated}::integer,
    input_tokens = turns.input_tokens + ${more('input_tokens')}::bigint,
    output_tokens = turns.output_tokens + ${more('output_tokens')}::bigint,
    cache_read_input_tokens = turns.cache_read_input_tokens + ${more('cache_read_input_tokens')}::bigint,
    cache_creation_input_tokens = turns.cache_creation_input_tokens + ${more('cache_creation_input_tokens')}::bigint,
    cost = turns.cost + CASE WHEN turns.currency = ${model.price?.currency ?? null}::text
      THEN ${priceCall(model, usage)}::numeric - ${priceCall(model, recorded)}::numeric ELSE 0 END`;
}

/** Deltas that are not stored when the step is: the number of the last one, and all of them packed as a flush stores them. */
export interface RestOfDeltas {
  last: number;
  runs: unknown;
}

/** In the statement of the event that follows them: who sees the event sees its deltas. */
export function insertRest({ position, attempt, messageId }: ModelCall, { last, runs }: RestOfDeltas): Sql {
  return sql`
      rest AS (
        INSERT INTO deltas (turn_id, position, attempt, last, message_id, runs)
        SELECT id, ${position}::integer, ${attempt}::integer, ${last}::integer, ${messageId}, ${JSON.stringify(runs)}
        FROM written),`;
}
