import type { Tx } from '../db/db.js';
import type { MODEL_FAILURE_TYPES } from '../events/fields.js';
import { priceCall, type CalledModel } from '../models/price.js';
import type { CallUsage, ModelAnswer } from '../models/content.js';
import { newId } from '../platform/ids.js';
import type { Reserve } from '../sessions/budget.js';
import { changeTurn, ifOpen, ifRunning, type Fence, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { RefusedMedia } from './refused-media.js';
import { requireReserve } from './reserve.js';
import { deliverSteering, SteeringChangedError } from './steering.js';
import { write } from '../db/transaction.js';
import type { Turn } from '../turns/turn.js';

/** One attempt of an activity. Calls record it, so that it can be taken over when its worker dies. */
export interface AttemptId {
  /** The worker's identity in Temporal. */
  workerId: string;
  /** Names the attempt in Temporal. No secret, but of no use to people: never logged. */
  token: Uint8Array;
}

/** One model call, recorded before it is sent. Its deltas and its usage refer to it. */
export interface ModelCall {
  turnId: string;
  sessionId: string;
  projectId: string;
  model: CalledModel;
  step: number;
  /** The turn's last stored event when the call began. */
  position: number;
  /** Number of the call in its turn. */
  call: number;
  /** No other call has begun since that event. */
  isFirstSinceEvent: boolean;
  messageId: string;
  startedAt: string;
  /** Failures of this call so far that are tried again, and the age of the first one. A call tried again is one call. */
  failures: number;
  failingForMs: number;
}

/** Why the model failed. */
export interface ModelFailure {
  type: (typeof MODEL_FAILURE_TYPES)[number];
  /** The message for the client. It is never sent to Temporal. */
  message: string;
  /** True if sending the message again later may help. */
  retryable: boolean;
  /** The delay that the model's API asked for. */
  retryAfterMs?: number;
  /** The HTTP status of the API's answer, for operators. */
  status?: number;
  /** What the API does not take of the request's media. Later requests leave it out. */
  refusedMedia?: RefusedMedia;
}

/** The messages that wait to be given to the turn, as its request has them. */
export interface Steering {
  /** False if no message waited for the turn or behind it when it was read. */
  mayWait: boolean;
  ids: string[];
}

export const NO_USAGE: CallUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

const INSERT_CALL = `
  INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, task_token, started_at, model_id, cost,
    currency, reserved)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;

/**
 * Claims the turn and records a new model call, together with the messages that it is the first to see.
 * @param steering the ids of the messages in its request that still wait; null for a call that waits for none of them
 * @param reserve of a turn with a budget: what the call costs at most
 * @throws BudgetReservedError
 * @throws SteeringChangedError if other messages wait by now
 * @throws BudgetChangedError if others have taken of the budget meanwhile: a shorter answer may fit
 * @throws OvertakenError if another attempt has stored the step meanwhile, whose outcome needs no second call
 * @throws TurnEndedError if the turn has ended, or the tables lack the end of the previous step: they were restored
 * from a backup older than the workflow
 */
export function beginModelCall(
  deps: TurnDeps,
  turnId: string,
  step: number,
  attempt: AttemptId,
  model: CalledModel,
  steering: Steering | null = { mayWait: false, ids: [] },
  reserve: Reserve | null = null,
): Promise<ModelCall> {
  const messageId = newId('message');
  const begin = async (turn: Turn, tx: Tx, progress: Progress[]): Promise<ModelCall> => {
    const { hasStep, follows, isFirstSinceEvent, ...failing } = progress[0]!;
    if (hasStep) throw new OvertakenError(turnId);
    if (steering?.mayWait === false && turn.hasWaiting) throw new SteeringChangedError();
    if (!follows) {
      const ids = { turn_id: turnId, step };
      deps.log.warn(ids, 'the tables lack the step before a model call: they are older than the workflow');
      throw new TurnEndedError(turnId);
    }
    if (reserve !== null) await requireReserve(tx, turn, reserve);
    const began = turn.position;
    if (steering?.mayWait) await deliverSteering(tx, turn, step, steering.ids);
    const { position, sessionId, projectId, at: startedAt } = turn;
    const call = turn.beginCall(model);
    write(tx, INSERT_CALL, [
      ...[turnId, step, position, call, messageId, attempt.workerId, Buffer.from(attempt.token), startedAt, model.id],
      ...[priceCall(model, NO_USAGE), model.price?.currency ?? null, reserve?.amount ?? null],
    ]);
    const place = { turnId, sessionId, projectId, step, position, call };
    return {
      ...place,
      isFirstSinceEvent: isFirstSinceEvent || position > began,
      model,
      messageId,
      startedAt,
      ...failing,
    };
  };
  return changeTurn(deps, turnId, ifOpen, begin, { ahead: (tx) => tx.query<Progress[]>(PROGRESS, [turnId, step]) });
}

interface Progress {
  hasStep: boolean;
  /** The step before is stored, and its calls are done. */
  follows: boolean;
  /** No call has begun since the turn's last event. */
  isFirstSinceEvent: boolean;
  failures: number;
  failingForMs: number;
}

/** A message that steers the turn between two attempts begins no other call; a compaction of the context does. */
const PROGRESS = `
  SELECT EXISTS (SELECT FROM model_steps WHERE turn_id = $1 AND step = $2) AS "hasStep",
    ($2::integer = 1 OR EXISTS (SELECT FROM model_steps WHERE turn_id = $1 AND step = $2 - 1))
      AND NOT EXISTS (SELECT FROM tool_calls WHERE turn_id = $1 AND step = $2 - 1 AND state <> 'done') AS follows,
    NOT EXISTS (SELECT FROM model_calls c WHERE c.turn_id = $1 AND c.position = turns.position) AS "isFirstSinceEvent",
    failed.count::integer AS failures,
    coalesce(extract(epoch FROM clock_timestamp() - failed.since) * 1000, 0)::double precision AS "failingForMs"
  FROM turns, LATERAL (
    SELECT count(*) AS count, min(c.ended_at) AS since FROM model_calls c
    WHERE c.turn_id = $1 AND c.step = $2 AND (c.error->>'retryable')::boolean AND c.position >= coalesce((
      SELECT e.position FROM events e WHERE e.session_id = turns.session_id AND e.turn_number = turns.number
        AND e.type <> 'user.message'
      ORDER BY e.position DESC LIMIT 1), 0)) AS failed
  WHERE turns.id = $1`;

/** Guards the outcome of a call: refuses it if another call has begun or the turn has moved on. */
export function isLatestCall({ position, call }: Pick<ModelCall, 'position' | 'call'>): Fence {
  return (turn) => ifRunning(turn) && turn.position === position && turn.modelCalls === call;
}

const RECORD_CALL_USAGE = `
  UPDATE model_calls SET usage = $4, cost = $5, first_token_ms = $6
  WHERE turn_id = $1 AND position = $2 AND call = $3 AND usage IS NULL`;
const END_CALL = `
  UPDATE model_calls SET usage = $4, cost = $5, first_token_ms = coalesce($6, first_token_ms), ended_at = $7, error = $8
  WHERE turn_id = $1 AND position = $2 AND call = $3`;

/** Records the usage of a call when it starts, and its first token, so that they count even if the process dies. */
export async function recordUsage(
  deps: TurnDeps,
  call: ModelCall,
  usage: CallUsage,
  firstTokenMs: number | null,
): Promise<void> {
  await changeTurn(deps, call.turnId, ifRunning, (turn, tx) => {
    write(tx, RECORD_CALL_USAGE, usageOf(call, { usage, firstTokenMs }));
    turn.seeFirstToken(call.startedAt, firstTokenMs);
  });
}

/** Records the usage of a call that ended without an outcome, and the reason if the model failed. */
export async function endModelCall(
  deps: TurnDeps,
  call: ModelCall,
  answer: ModelAnswer,
  failure: ModelFailure | null,
): Promise<void> {
  await changeTurn(deps, call.turnId, ifRunning, (turn, tx) => endCall(tx, turn, call, answer, failure));
}

/** The end of a call, as a part of a change. It may be repeated. */
export function endCall(
  tx: Tx,
  turn: Turn,
  call: ModelCall,
  { usage, firstTokenMs }: Pick<ModelAnswer, 'usage' | 'firstTokenMs'>,
  failure: ModelFailure | null = null,
): void {
  write(tx, END_CALL, [
    ...usageOf(call, { usage, firstTokenMs }),
    turn.at,
    failure === null ? null : JSON.stringify(failure),
  ]);
  turn.seeFirstToken(call.startedAt, firstTokenMs);
}

function usageOf(
  { turnId, position, call, model }: ModelCall,
  { usage, firstTokenMs }: Pick<ModelAnswer, 'usage' | 'firstTokenMs'>,
): unknown[] {
  const firstToken = firstTokenMs === null ? null : Math.round(firstTokenMs);
  return [turnId, position, call, JSON.stringify(usage), priceCall(model, usage), firstToken];
}
