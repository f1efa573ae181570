import type { Timing, Usage, UsageDetails } from '../events/fields.js';
import type { Logger } from '../platform/logger.js';
import {
  cancelSeconds,
  turnFirstTokenSeconds,
  turnQueueSeconds,
  turnsEnded,
  turnSeconds,
} from '../platform/metrics.js';
import type { StopReason, TurnFailureType, TurnState } from './states.js';

/** What a turn's end says to operators. */
export interface TurnResult {
  state: TurnState;
  /** Stop reason of a completed turn, failure type of a failed one. */
  reason: StopReason | TurnFailureType | 'cancelled';
  usage: Usage | null;
  usageDetails: UsageDetails | null;
  timing: Timing;
  /** From the wish to cancel to now; null where nobody wished it. */
  cancelMs: number | null;
}

/**
 * Measures and logs the end of a turn. After the commit that ended it, by whoever committed: a transaction that runs
 * again, or finds the turn ended, counts nothing.
 */
export function observeOutcome(turn: { id: string; session_id: string; ended?: TurnResult }, log: Logger): void {
  if (turn.ended === undefined) return;
  const { state, reason, usage, usageDetails, timing, cancelMs } = turn.ended;
  const ids = { turn_id: turn.id, session_id: turn.session_id };
  log.info({ ...ids, state, reason, ...timing, ...usage, ...usageDetails, cancel_ms: cancelMs }, 'turn ended');
  turnsEnded.inc({ state, reason });
  turnSeconds.observe({ state }, timing.total_ms / 1000);
  if (timing.queued_ms !== null) turnQueueSeconds.observe(timing.queued_ms / 1000);
  if (timing.first_token_ms !== null) turnFirstTokenSeconds.observe(timing.first_token_ms / 1000);
  if (state === 'cancelled' && cancelMs !== null) cancelSeconds.observe(cancelMs / 1000);
}
