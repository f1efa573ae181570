import { createHash } from 'node:crypto';

/** Hashes parsed JSON. Order of keys and whitespace do not matter. */
export function jsonHash(value: unknown): Buffer {
  return createHash('sha256').update(canonical(value)).digest();
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, child]) => `${JSON.stringify(key)}:${canonical(child)}`).join(',')}}`;
}
