import type { Db } from '../db/db.js';
import type { TurnFields } from '../db/entities/turns.js';
import type { TurnState } from '../db/turn-states.js';
import type { StopReason, Timing, TurnFailureType, Usage, UsageDetails } from '../events/fields.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { configurationOfTurn, MODEL_ID } from '../sessions/configured.js';
import { isTracing, recordSpan } from '../platform/tracing.js';
import type { Logger } from '../platform/logger.js';
import {
  cancelSeconds,
  turnBetweenStepsSeconds,
  turnFirstTokenSeconds,
  turnQueueSeconds,
  turnsEnded,
  turnSeconds,
} from '../platform/metrics.js';
import type { ModelUsage } from './spent.js';

/** How a turn is to end. */
export type TurnOutcome =
  /** `output`: the value as JSON text or null, in a turn with `output_schema`. */
  | { kind: 'completed'; stopReason: StopReason; output?: string | null }
  | { kind: 'cancelled' }
  | { kind: 'failed'; type: TurnFailureType; message: string; retryable: boolean };

/** A model call did not fit into the session's budget. */
export const BUDGET_REACHED: TurnOutcome = { kind: 'completed', stopReason: 'budget_reached' };

/** How a turn has ended, as in its terminal event, and what it took of each model. */
export interface TurnResult {
  state: TurnState;
  stop_reason?: StopReason;
  error?: { type: TurnFailureType };
  usage: Usage | null;
  usage_details: UsageDetails | null;
  byModel: ModelUsage[];
  timing: Timing;
  /** Milliseconds from the cancel request to the end; null without a request. */
  cancel_ms: number | null;
}

/** Counts and logs the end of a turn. Call it once, after the commit that ended the turn. */
export function observeOutcome(turn: Pick<TurnFields, 'id' | 'sessionId'>, result: TurnResult, log: Logger): void {
  const { state, usage, usage_details, timing, cancel_ms } = result;
  const reason = result.stop_reason ?? result.error?.type ?? 'cancelled';
  const ids = { turn_id: turn.id, session_id: turn.sessionId };
  const { cost, delegated: _, ...details } = usage_details ?? {};
  const facts = { ...timing, ...usage, ...details, cost: cost?.amount, currency: cost?.currency, cancel_ms };
  log.info({ ...ids, state, reason, ...facts }, 'turn ended');
  turnsEnded.inc({ state, reason });
  turnSeconds.observe({ state }, timing.total_ms / 1000);
  if (timing.queued_ms !== null) turnQueueSeconds.observe(timing.queued_ms / 1000);
  if (timing.first_token_ms !== null) turnFirstTokenSeconds.observe(timing.first_token_ms / 1000);
  if (timing.between_steps_ms != null) turnBetweenStepsSeconds.observe(timing.between_steps_ms / 1000);
  if (state === 'cancelled' && cancel_ms !== null) cancelSeconds.observe(cancel_ms / 1000);
}

/**
 * Records the span of a turn when it has ended: processes may die during a turn, so none can hold the span open. It belongs
 * to the trace of the request that sent the message.
 */
export async function traceTurn(
  db: Db,
  { id, sessionId }: Pick<TurnFields, 'id' | 'sessionId'>,
  { state, stop_reason, error, usage }: TurnResult,
): Promise<void> {
  if (!isTracing()) return;
  const [turn] = await runSql<{
    trace: string | null;
    project_id: string;
    model_id: string;
    started: number;
    ended: number;
  }>(
    db,
    sql`SELECT trace, project_id, coalesce(turns.model_id, ${rawSql(MODEL_ID)}) AS model_id,
          (extract(epoch FROM coalesce(started_at, queued_at)) * 1000)::double precision AS started,
          (extract(epoch FROM ended_at) * 1000)::double precision AS ended
        FROM turns ${rawSql(configurationOfTurn('turns'))} WHERE turns.id = ${id}`,
  ).catch(() => []);
  if (turn === undefined) return;
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': sessionId,
    project_id: turn.project_id,
    'gen_ai.request.model': turn.model_id,
    'gen_ai.usage.input_tokens': usage?.input_tokens,
    'gen_ai.usage.output_tokens': usage?.output_tokens,
    'gen_ai.response.finish_reasons': [stop_reason ?? error?.type ?? state],
    turn_id: id,
    ...(error !== undefined && { 'error.type': error.type }),
  };
  recordSpan('invoke_agent', attributes, turn);
}

/** What `turn.failed` says if nothing more is known of the failure. */
const MESSAGES: Record<TurnFailureType, string> = {
  model_error: 'The model could not be called.',
  model_overloaded: 'The model is overloaded. Send the message again later.',
  model_rate_limited: 'The model refused further calls for now (rate limit). Send the message again later.',
  context_too_long: 'The message and its results do not fit into the model’s context.',
  turn_timeout: 'The turn exceeded its time limit.',
  terminated: 'The turn was terminated by an operator.',
  internal_error: 'The turn failed because of an internal error.',
};
const FINAL: ReadonlySet<TurnFailureType> = new Set(['model_error', 'context_too_long']);

export function failed(type: TurnFailureType): Extract<TurnOutcome, { kind: 'failed' }> {
  return { kind: 'failed', type, message: MESSAGES[type], retryable: !FINAL.has(type) };
}
