/**
 * SQL for an amount of money as JSON, a decimal number without an exponent or trailing zeros; null if a part of it had no
 * price. The arguments are SQL.
 */
export function moneyJson(amount: string, { isUnpriced, currency }: { isUnpriced: string; currency: string }): string {
  return `CASE WHEN NOT (${isUnpriced}) AND ${currency} IS NOT NULL
    THEN json_build_object('amount', trim_scale(${amount})::text, 'currency', ${currency}) END`;
}

const SPENT_BY_SESSION = `(turns.cost_before + (
  SELECT coalesce(sum(a.cost), 0) FROM model_calls a WHERE a.turn_id = turns.id AND a.currency = turns.currency))`;
const ofFamily = (withReserves: boolean): string => `coalesce((
  SELECT family_spent(m.family_id, turns.id, ${withReserves}) FROM family_sessions m WHERE m.session_id = turns.session_id),
  ${SPENT_BY_SESSION})`;

/**
 * SQL for what the model calls of the session of an open turn `turns` have cost by now, in its currency; with its copies, for what those
 * of all of them have cost (src/sessions/families).
 */
export const SPENT = ofFamily(false);
/** The same with what the calls under way of the other sessions may cost at most. */
export const SPENT_OR_RESERVED = ofFamily(true);
