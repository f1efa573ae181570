import { toDecimal } from '../platform/decimal.js';
import type { CallUsage } from './content.js';
import { costOf, type Price } from './price.js';

/** The model of a call, with its price when the call is made; null if it is not known. */
export interface CalledModel {
  id: string;
  price: Price | null;
}

/** What the tokens of a call cost, as a decimal number; null without a price. */
export function priceCall({ price }: CalledModel, usage: CallUsage): string | null {
  return price === null ? null : toDecimal(costOf(price, usage));
}
