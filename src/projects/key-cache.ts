import type { Db } from '../db/transaction.js';
import { findLiveKey, hashOf, type LiveKey } from './api-keys.js';

/** A revoked key is refused within 5 s (contract.md §5): this, and the time a request takes. */
const KEPT_MS = 3000;
const MAX_KEPT = 10_000;

/** Looks a presented key up; null when it is malformed, unknown, expired or revoked. */
export type KeyLookup = (key: string) => Promise<LiveKey | null>;

/** A lookup that remembers live keys for three seconds, and asks Postgres once for requests that come together. */
export function createKeyLookup(db: Db): KeyLookup {
  const kept = new Map<string, { found: Promise<LiveKey | null>; until: number }>();

  return async (key) => {
    if (!/^ask_[A-Za-z0-9_-]{43}$/.test(key)) return null;
    const hash = hashOf(key);
    const name = hash.toString('base64');
    let entry = kept.get(name);
    if (entry === undefined || entry.until <= Date.now()) {
      if (kept.size >= MAX_KEPT) kept.clear();
      entry = { found: findLiveKey(db, hash), until: Date.now() + KEPT_MS };
      kept.set(name, entry);
      // An unknown key is not kept: it may be issued in the next moment. Nor is a failed lookup.
      const forget = (): boolean => kept.delete(name);
      entry.found.then((live) => live ?? forget(), forget);
    }
    const live = await entry.found;
    return live?.expiresAt != null && Date.parse(live.expiresAt) <= Date.now() ? null : live;
  };
}
