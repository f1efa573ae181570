import type { Db } from '../db/transaction.js';
import { findLiveKey, hashOf, type LiveKey } from './api-keys.js';

/** A revoked key must be refused within 5 s (contract.md §5). The rest of the time is for the request itself. */
const KEPT_MS = 3000;
const MAX_KEPT = 10_000;

/** Looks up a presented key; null if it is malformed, unknown, expired or revoked. */
export type KeyLookup = (key: string) => Promise<LiveKey | null>;

/**
 * Returns a lookup that caches valid keys for three seconds and shares one query among parallel requests with the same
 * key.
 */
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
      // Unknown keys and failed lookups are not cached: the key may be issued the next moment.
      const forget = (): boolean => kept.delete(name);
      entry.found.then((live) => live ?? forget(), forget);
    }
    const live = await entry.found;
    return live?.expiresAt != null && Date.parse(live.expiresAt) <= Date.now() ? null : live;
  };
}
