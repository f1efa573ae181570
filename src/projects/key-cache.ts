import { BatchLookup } from '../db/batch-lookup.js';
import type { Db } from '../db/transaction.js';
import { findLiveKeys, hashOf, type LiveKey } from './api-keys.js';
import type { KeyUse } from './key-use.js';

/** A revoked key must be refused, and another rate limit hold, within 5 s (docs/contract.md §5, §13). The rest of the time is for the request itself. */
const KEPT_MS = 3000;
/** An unknown key may be issued the next moment. */
const UNKNOWN_KEPT_MS = 1000;
const MAX_KEPT = 10_000;

/** Looks up a presented key; null if it is malformed, unknown, expired or revoked. */
export type KeyLookup = (key: string) => Promise<LiveKey | null>;

/**
 * Returns a lookup that caches keys for three seconds, unknown ones for one, apart from each other. Requests without a
 * valid key cannot use up the pool of connections, nor displace the keys of others from the cache.
 */
export function createKeyLookup(db: Db, use: KeyUse): KeyLookup {
  const live = new Map<string, { key: LiveKey; until: number }>();
  const unknown = new Map<string, number>();
  const lookups = new BatchLookup((hashes) => findLiveKeys(db, hashes));

  return async (presented) => {
    if (!/^ask_[A-Za-z0-9_-]{43}$/.test(presented)) return null;
    const hash = hashOf(presented).toString('base64');
    if ((unknown.get(hash) ?? 0) > Date.now()) return null;
    let kept = live.get(hash);
    if (kept === undefined || kept.until <= Date.now()) {
      const until = Date.now() + KEPT_MS;
      const key = await lookups.lookUp(hash);
      if (key === null) {
        live.delete(hash);
        remember(unknown, hash, Date.now() + UNKNOWN_KEPT_MS);
        return null;
      }
      kept = { key, until };
      remember(live, hash, kept);
    }
    const { expiresAt } = kept.key;
    if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return null;
    use.note(kept.key.keyId);
    return kept.key;
  };
}

function remember<T>(map: Map<string, T>, hash: string, value: T): void {
  if (map.size >= MAX_KEPT) map.clear();
  map.set(hash, value);
}
