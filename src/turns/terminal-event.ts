import type { UsageDetails } from '../events/fields.js';
import type { NewEvent } from '../events/schema.js';
import { toDecimal, toUnits } from '../platform/decimal.js';
import { parseExact } from '../platform/exact-json.js';
import { msBetween } from '../platform/timestamps.js';
import type { DelegatedFact, TurnFacts } from './facts.js';
import type { TurnOutcome, TurnResult } from './outcome.js';
import type { Spent } from './spent.js';
import { timing } from './timing.js';
import type { TurnRow } from './turn-row.js';

/** The terminal event of a turn that ends at `at`, and the same for logs and metrics. */
export function terminalEvent(
  row: TurnRow,
  outcome: TurnOutcome,
  { usage, details, byModel }: Spent,
  facts: TurnFacts,
  at: string,
): { event: NewEvent; result: TurnResult } {
  const hasRun = row.started_at !== null;
  const spent = {
    usage: hasRun ? usage : null,
    usage_details: hasRun ? { ...details, ...delegatedUsage(facts.delegated) } : null,
    timing: timing(row, facts, at).timing,
  };
  const cancel_ms = row.cancel_requested_at === null ? null : msBetween(row.cancel_requested_at, at);
  const result = { state: outcome.kind, cancel_ms, byModel, ...spent };
  switch (outcome.kind) {
    case 'cancelled':
      return { event: { type: 'turn.cancelled', data: spent }, result };
    case 'completed': {
      const stop_reason = outcome.stopReason;
      const output = outputOf(outcome, facts);
      const data = { stop_reason, ...(output !== undefined && { output }), ...spent };
      return { event: { type: 'turn.completed', data }, result: { ...result, stop_reason } };
    }
    case 'failed': {
      const { type, message, retryable } = outcome;
      const error = { type, message, retryable };
      return { event: { type: 'turn.failed', data: { error, ...spent } }, result: { ...result, error } };
    }
  }
}

function delegatedUsage(delegated: DelegatedFact | null): Pick<UsageDetails, 'delegated'> {
  if (delegated === null) return {};
  const { turns, modelCalls, inputTokens, outputTokens, cost, currency, isUnpriced } = delegated;
  const money = isUnpriced || currency === null ? null : { amount: toDecimal(toUnits(cost)), currency };
  const calls = { model_calls: modelCalls, input_tokens: inputTokens, output_tokens: outputTokens };
  return { delegated: { turns, ...calls, cost: money } };
}

/** The value of a turn with `output_schema`; undefined in other turns. A budget ends a turn where its message is not known. */
function outputOf(
  { stopReason, output }: Extract<TurnOutcome, { kind: 'completed' }>,
  { mustGiveOutput }: TurnFacts,
): Record<string, unknown> | null | undefined {
  if (output == null) return output === null || (stopReason === 'budget_reached' && mustGiveOutput) ? null : undefined;
  return parseExact(output) as Record<string, unknown>;
}
