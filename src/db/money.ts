/**
 * SQL for an amount of money as JSON, a decimal number without an exponent or trailing zeros; null if a part of it had no
 * price. The arguments are SQL.
 */
export function moneyJson(amount: string, { isUnpriced, currency }: { isUnpriced: string; currency: string }): string {
  return `CASE WHEN NOT (${isUnpriced}) AND ${currency} IS NOT NULL
    THEN json_build_object('amount', trim_scale(${amount})::text, 'currency', ${currency}) END`;
}

/** SQL for what the model calls of the session of an open turn `turns` have cost by now, in its currency. */
export const SPENT = `(turns.cost_before + (
  SELECT coalesce(sum(a.cost), 0) FROM model_calls a WHERE a.turn_id = turns.id AND a.currency = turns.currency))`;
