import type { DataSource, EntityManager } from 'typeorm';
import { transaction } from '../db/transaction.js';
import { appendEvents } from '../events/store.js';
import type { Notifier } from '../events/notify.js';
import type { Logger } from '../platform/logger.js';
import type { Timing, Usage, UsageDetails } from '../events/fields.js';
import type { NewEvent } from '../events/schema.js';
import { observeOutcome } from './outcome.js';
import { lockOpenTurn, type TurnRow } from './lock.js';
import { TRANSITIONS, type StopReason, type TurnFailureType, type TurnTrigger } from './states.js';

/** How a turn ends. */
export type TurnOutcome =
  | { kind: 'completed'; stopReason: StopReason }
  | { kind: 'cancelled' }
  | { kind: 'failed'; type: TurnFailureType; message: string; retryable: boolean };

const TRIGGER: Record<TurnOutcome['kind'], TurnTrigger> = {
  completed: 'complete',
  cancelled: 'cancel',
  failed: 'fail',
};

/**
 * Ends a turn whose row `tx` has locked: its last answer (`before`), its terminal event and its state in one statement.
 * Without an answer, a message that was cut off is stored with what was streamed (contract.md §3 `agent.message`).
 * `observeOutcome` follows the commit. A cancel that was accepted stands, though the turn came to another end before it
 * heard of it (spec.md "States and transitions").
 */
export async function endLockedTurn(
  tx: EntityManager,
  turn: TurnRow,
  met: TurnOutcome,
  before: NewEvent[] = [],
): Promise<void> {
  const ending: TurnOutcome = turn.cancel_requested_at === null ? met : { kind: 'cancelled' };
  const state = TRANSITIONS[turn.state][TRIGGER[ending.kind]];
  if (state === null) throw new RangeError(`a ${turn.state} turn cannot become ${ending.kind}`);
  const events = [...before];
  const isCutOff = turn.state === 'running' && ending.kind !== 'completed' && before.length === 0;
  if (isCutOff) events.push(...(await cutOffMessage(tx, turn)));
  const { cancel_ms, ...spent } = await account(tx, turn);
  events.push(terminalEvent(ending, spent));
  await appendEvents(tx, turn, events, state);
  turn.state = state;
  const { usage, usage_details: usageDetails, timing } = spent;
  turn.ended = { state, reason: reasonOf(ending), usage, usageDetails, timing, cancelMs: cancel_ms };
}

/** Ends a turn unless it has ended already. Returns whether this call ended it. */
export async function endTurn(
  { db, notifier, log }: { db: DataSource; notifier: Notifier; log: Logger },
  turnId: string,
  ending: TurnOutcome,
): Promise<boolean> {
  const ended = await transaction(db, async (tx) => {
    const turn = await lockOpenTurn(tx, turnId);
    // A turn completes only from inside; from a queued one nothing can be said but that it did not run.
    if (turn === null || TRANSITIONS[turn.state][TRIGGER[ending.kind]] === null) return null;
    await endLockedTurn(tx, turn, ending);
    return turn;
  });
  if (ended === null) return false;
  notifier.notify(ended);
  observeOutcome(ended, log);
  return true;
}

function reasonOf(ending: TurnOutcome): NonNullable<TurnRow['ended']>['reason'] {
  if (ending.kind === 'completed') return ending.stopReason;
  return ending.kind === 'failed' ? ending.type : 'cancelled';
}

async function cutOffMessage(tx: EntityManager, turn: TurnRow): Promise<NewEvent[]> {
  const [cut]: { message_id: string; content: string }[] = await tx.query(
    `SELECT message_id, string_agg(content, '' ORDER BY number) AS content FROM deltas
     WHERE turn_id = $1 AND position = $2 AND type = 'agent.message.delta'
       AND attempt = (SELECT max(attempt) FROM model_attempts WHERE turn_id = $1 AND position = $2)
     GROUP BY message_id`,
    [turn.id, turn.position],
  );
  return cut === undefined ? [] : [{ type: 'agent.message', data: { ...cut, incomplete: true } }];
}

interface Account {
  usage: Usage | null;
  usage_details: UsageDetails | null;
  timing: Timing;
}

/** What the turn cost and where its time went, failed attempts included. Null usage: it never ran. */
async function account(tx: EntityManager, turn: TurnRow): Promise<Account & { cancel_ms: number | null }> {
  const [row]: (Usage & UsageDetails & Timing & { cancel_ms: number | null })[] = await tx.query(
    `WITH calls AS (
       SELECT count(*)::integer AS model_calls,
         coalesce(sum((usage->>'input_tokens')::bigint + (usage->>'cache_read_input_tokens')::bigint
           + (usage->>'cache_creation_input_tokens')::bigint), 0)::bigint AS input_tokens,
         coalesce(sum((usage->>'output_tokens')::bigint), 0)::bigint AS output_tokens,
         coalesce(sum((usage->>'cache_read_input_tokens')::bigint), 0)::bigint AS cache_read_input_tokens,
         coalesce(sum((usage->>'cache_creation_input_tokens')::bigint), 0)::bigint AS cache_creation_input_tokens,
         sum(coalesce(ended_at, clock_timestamp()) - started_at) AS model
       FROM model_attempts WHERE turn_id = $1),
     tools AS (
       SELECT sum(took) AS tools FROM (
         SELECT max(coalesce(ended_at, clock_timestamp())) - min(started_at) AS took FROM tool_calls
         WHERE turn_id = $1 AND started_at IS NOT NULL GROUP BY step) AS steps)
     SELECT calls.model_calls, input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens,
       ${millis('started_at - queued_at')} AS queued_ms,
       connect_ms,
       ${millis('first_token_at - queued_at')} AS first_token_ms,
       ${millis('model')} AS model_ms,
       ${millis('tools')} AS tools_ms,
       ${millis('clock_timestamp() - queued_at')} AS total_ms,
       ${millis('clock_timestamp() - cancel_requested_at')} AS cancel_ms
     FROM turns, calls, tools WHERE turns.id = $1`,
    [turn.id],
  );
  const { queued_ms, connect_ms, first_token_ms, model_ms, tools_ms, total_ms, cancel_ms, ...spent } = row!;
  const { input_tokens, output_tokens, ...details } = spent;
  const ran = turn.state !== 'queued';
  return {
    usage: ran ? { input_tokens, output_tokens } : null,
    usage_details: ran ? details : null,
    timing: { queued_ms, connect_ms, first_token_ms, model_ms, tools_ms, total_ms },
    cancel_ms,
  };
}

function millis(interval: string): string {
  return `round(extract(epoch FROM ${interval}) * 1000)::integer`;
}

function terminalEvent(ending: TurnOutcome, spent: Account): NewEvent {
  switch (ending.kind) {
    case 'completed':
      return { type: 'turn.completed', data: { stop_reason: ending.stopReason, ...spent } };
    case 'cancelled':
      return { type: 'turn.cancelled', data: spent };
    case 'failed': {
      const { type, message, retryable } = ending;
      return { type: 'turn.failed', data: { error: { type, message, retryable }, ...spent } };
    }
  }
}
