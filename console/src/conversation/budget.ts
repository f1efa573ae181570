import type { Session } from '../../../client/src/index.js';
import { toDecimal, toUnits } from '../../../src/platform/decimal.js';

export type Budget = NonNullable<Session['budget']>;
type Money = Budget['max_cost'];

/** What is left of a budget; null if the session's cost is not known. */
export function leftOf({ max_cost: { amount, currency } }: Budget, cost: Money | null): Money | null {
  if (cost === null) return null;
  const left = toUnits(amount) - toUnits(cost.amount);
  return { amount: toDecimal(left > 0n ? left : 0n), currency };
}
