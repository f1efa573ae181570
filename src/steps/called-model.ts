import { costOf, type Price } from '../models/price.js';
import type { CallUsage } from '../models/content.js';
import { toDecimal } from '../platform/decimal.js';

/** The model of a call, with its price when the call is made; null if it is not known. */
export interface CalledModel {
  id: string;
  price: Price | null;
}

/** What the tokens of a call cost, as a decimal number; null without a price. */
export function priceCall({ price }: CalledModel, usage: CallUsage): string | null {
  return price === null ? null : toDecimal(costOf(price, usage));
}
