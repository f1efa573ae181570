import type { Money, Usage, UsageDetails } from '../events/fields.js';
import { TOKEN_KINDS, type TokenKind } from '../models/content.js';
import { toDecimal, toUnits } from '../platform/decimal.js';
import type { ModelCallFact } from './facts.js';

/** What the calls of one model took. Tokens are whole numbers as text: sums of wrong counts may not fit into a number. */
export interface ModelUsage {
  modelId: string;
  modelCalls: number;
  tokens: Record<TokenKind, string>;
  /** All input, from the cache or not. */
  input: string;
  /** Decimal text: of the calls with a price in the turn's currency. */
  cost: string;
  isUnpriced: boolean;
}

export interface Spent {
  usage: Usage;
  details: UsageDetails;
  /** Decimal text: what the session's cost grows by. */
  cost: string;
  byModel: ModelUsage[];
}

/** The largest bigint of Postgres. A sum is cut there: nothing that a call reported keeps its turn from ending. */
const MAX_BIGINT = 2n ** 63n - 1n;

/**
 * Adds up what the model calls of a turn took, failed ones included.
 * @param currency the turn's: a call without a price, or with one in another currency, is not in its cost
 */
export function sumCalls(calls: ModelCallFact[], currency: string | null): Spent {
  const models = new Map<string, Sum>();
  const all = new Sum();
  for (const call of calls) {
    const ofModel = models.get(call.modelId) ?? new Sum();
    models.set(call.modelId, ofModel);
    for (const sum of [all, ofModel]) sum.add(call, currency);
  }
  const money: Money | null = all.isUnpriced || currency === null ? null : { amount: toDecimal(all.cost), currency };
  return {
    usage: { input_tokens: Number(all.input), output_tokens: Number(all.tokens.output_tokens) },
    details: {
      cache_read_input_tokens: Number(all.tokens.cache_read_input_tokens),
      cache_creation_input_tokens: Number(all.tokens.cache_creation_input_tokens),
      model_calls: all.calls,
      cost: money,
      ...(all.isEstimated && { estimated: true as const }),
    },
    cost: toDecimal(all.cost),
    byModel: [...models].map(([modelId, sum]) => ({
      modelId,
      modelCalls: sum.calls,
      tokens: Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, cut(sum.tokens[kind])])) as Record<TokenKind, string>,
      input: cut(sum.input),
      cost: toDecimal(sum.cost),
      isUnpriced: sum.isUnpriced,
    })),
  };
}

class Sum {
  calls = 0;
  readonly tokens = {
    input_tokens: 0n,
    output_tokens: 0n,
    cache_read_input_tokens: 0n,
    cache_creation_input_tokens: 0n,
  };
  cost = 0n;
  isUnpriced = false;
  isEstimated = false;

  get input(): bigint {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = this.tokens;
    return input_tokens + cache_read_input_tokens + cache_creation_input_tokens;
  }

  add({ usage, cost, currency }: ModelCallFact, ofTurn: string | null): void {
    this.calls += 1;
    for (const kind of TOKEN_KINDS) this.tokens[kind] += BigInt(usage?.[kind] ?? 0);
    if (usage?.estimated === true) this.isEstimated = true;
    if (currency === null || currency !== ofTurn) this.isUnpriced = true;
    else if (cost !== null) this.cost += toUnits(cost);
  }
}

function cut(sum: bigint): string {
  return String(sum < MAX_BIGINT ? sum : MAX_BIGINT);
}
