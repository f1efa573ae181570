import type { UsageGroup } from '../../../client/src/index.js';
import { formatMoney, formatNumber } from '../parts/format.js';

/** How groups are compared: by their costs, or by their tokens where one of them has no price. */
export interface Measure {
  name: 'cost' | 'tokens';
  of: (usage: UsageGroup) => number;
  format: (value: number) => string;
}

export function measureOf(groups: readonly UsageGroup[]): Measure {
  const currency = groups.find(({ cost }) => cost !== null)?.cost?.currency;
  const isPriced = currency !== undefined && groups.every(({ cost }) => cost?.currency === currency);
  if (!isPriced) {
    return {
      name: 'tokens',
      of: ({ input_tokens: input, output_tokens: output }) => input + output,
      format: (value) => formatNumber(Math.round(value)),
    };
  }
  return {
    name: 'cost',
    of: ({ cost }) => Number(cost!.amount),
    format: (value) => formatMoney({ amount: value.toFixed(12), currency }),
  };
}
