/**
 * SQL for an amount of money as JSON, a decimal number without an exponent or trailing zeros; null if a part of it had no
 * price. The arguments are SQL.
 */
export function moneyJson(amount: string, { isUnpriced, currency }: { isUnpriced: string; currency: string }): string {
  return `CASE WHEN NOT (${isUnpriced}) AND ${currency} IS NOT NULL
    THEN json_build_object('amount', trim_scale(${amount})::text, 'currency', ${currency}) END`;
}
