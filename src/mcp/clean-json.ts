import type { Cleaner } from './cleaner.js';

/** The value with every text of it cleaned, keys too. */
export function cleanJson(value: unknown, cleaner: Cleaner): unknown {
  if (typeof value === 'string') return cleaner.clean(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, cleaner));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleaner.clean(key), cleanJson(item, cleaner)]));
}
