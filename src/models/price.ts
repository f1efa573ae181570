import type { ModelEntry } from './entry.js';
import { isDecimal, toUnits, toDecimal } from '../platform/decimal.js';
import type { CallUsage } from './content.js';

/** What a model costs, as MODELS_FILE says: numbers for a million tokens. */
type PriceEntry = NonNullable<ModelEntry['price']>;
type Rate = Exclude<keyof PriceEntry, 'currency'>;

/** What a model costs: units of money (src/platform/decimal) for one token. */
export type Price = { currency: string } & Record<Rate, bigint>;

const TOKENS = 1_000_000n;
const RATES: readonly Rate[] = ['input', 'output', 'cache_read', 'cache_write'];

/** The first number of a price that has too many digits, or null. */
export function tooPrecise(price: PriceEntry): Rate | null {
  return RATES.find((rate) => !isDecimal(String(price[rate]))) ?? null;
}

/**
 * The price of a model; null if its entry has none. A number of 15 digits, the most a price has, survives the parser of
 * JSON, and `String` returns its digits.
 */
export function priceOf({ price }: Pick<ModelEntry, 'price'>): Price | null {
  if (price === undefined) return null;
  const unitsOf = (rate: Rate): bigint => toUnits(String(price[rate])) / TOKENS;
  return {
    currency: price.currency,
    input: unitsOf('input'),
    output: unitsOf('output'),
    cache_read: unitsOf('cache_read'),
    cache_write: unitsOf('cache_write'),
  };
}

/** The units that the tokens of a call cost. */
export function costOf(price: Price, usage: CallUsage): bigint {
  return (
    BigInt(usage.input_tokens) * price.input +
    BigInt(usage.output_tokens) * price.output +
    BigInt(usage.cache_read_input_tokens) * price.cache_read +
    BigInt(usage.cache_creation_input_tokens) * price.cache_write
  );
}

/** The model of a call, with its price when the call is made; null if it is not known. */
export interface CalledModel {
  id: string;
  price: Price | null;
}

/** What the tokens of a call cost, as a decimal number; null without a price. */
export function priceCall({ price }: CalledModel, usage: CallUsage): string | null {
  return price === null ? null : toDecimal(costOf(price, usage));
}
