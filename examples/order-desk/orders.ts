import { readFileSync } from 'node:fs';

/** An order whose customer asks for a refund. */
export interface Order {
  order: string;
  customer: string;
  cost: number;
  refund: number;
}

export const orders = JSON.parse(readFileSync(new URL('orders.json', import.meta.url), 'utf8')) as Order[];
