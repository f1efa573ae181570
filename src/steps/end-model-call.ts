import type { EntityManager } from 'typeorm';
import { write } from '../db/transaction.js';
import { priceCall } from '../models/called-model.js';
import type { ModelAnswer, CallUsage } from '../models/content.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { Turn } from '../turns/turn.js';
import type { ModelCall, ModelFailure } from './model-call.js';

const RECORD_CALL_USAGE = `
  UPDATE model_attempts SET usage = $4, cost = $5, first_token_ms = $6
  WHERE turn_id = $1 AND position = $2 AND attempt = $3 AND usage IS NULL`;
const END_CALL = `
  UPDATE model_attempts SET usage = $4, cost = $5, first_token_ms = coalesce($6, first_token_ms), ended_at = $7, error = $8
  WHERE turn_id = $1 AND position = $2 AND attempt = $3`;

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
  tx: EntityManager,
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
  { turnId, position, attempt, model }: ModelCall,
  { usage, firstTokenMs }: Pick<ModelAnswer, 'usage' | 'firstTokenMs'>,
): unknown[] {
  const firstToken = firstTokenMs === null ? null : Math.round(firstTokenMs);
  return [turnId, position, attempt, JSON.stringify(usage), priceCall(model, usage), firstToken];
}
