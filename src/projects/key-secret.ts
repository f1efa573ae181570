import { createHash, randomBytes } from 'node:crypto';

/** A new key: 256 random bits. */
export function newSecret(): string {
  return `ask_${randomBytes(32).toString('base64url')}`;
}

/** What the table has of a key. */
export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
