import type { Db } from '../db/db.js';
import { BatchLookup } from '../db/batch-lookup.js';
import { findKeysByHash, findKeysById, type LiveKey } from './api-keys.js';
import { hashOf } from './key-secret.js';
import type { KeyUse } from './key-use.js';

/** A revoked key must be refused, and another rate limit hold, within 5 s (docs/decisions.md "Running it", "Results"). The rest of the time is for the request itself. */
const KEPT_MS = 3000;
/** An unknown key may be issued the next moment. */
const UNKNOWN_KEPT_MS = 1000;
const MAX_KEPT = 10_000;

/** Looks up live keys: null if there is none. */
export interface KeyLookup {
  /** A presented key: null also if it is malformed. */
  presented(key: string): Promise<LiveKey | null>;
  /** The key that made a session token. Only ids of verified tokens may be asked for: they are this service's own. */
  byId(keyId: string): Promise<LiveKey | null>;
}

/** Creates a lookup that caches keys for three seconds. A use of a token counts as a use of its key. */
export function createKeyLookup(db: Db, use: KeyUse): KeyLookup {
  const byHash = cached((hashes) => findKeysByHash(db, hashes));
  const byId = cached((ids) => findKeysById(db, ids));
  const noted = (key: LiveKey | null): LiveKey | null => {
    if (key !== null) use.note(key.keyId);
    return key;
  };
  return {
    async presented(key) {
      return /^ask_[A-Za-z0-9_-]{43}$/.test(key) ? noted(await byHash(hashOf(key).toString('base64'))) : null;
    },
    byId: async (keyId) => noted(await byId(keyId)),
  };
}

/**
 * Caches keys for three seconds, unknown ones for one, apart from each other. Requests without a valid key cannot use up
 * the pool of connections, nor displace the keys of others from the cache.
 */
function cached(find: (names: string[]) => Promise<Map<string, LiveKey>>): (name: string) => Promise<LiveKey | null> {
  const live = new Map<string, { key: LiveKey; until: number }>();
  const unknown = new Map<string, number>();
  const lookups = new BatchLookup(find);

  return async (name) => {
    if ((unknown.get(name) ?? 0) > Date.now()) return null;
    let kept = live.get(name);
    if (kept === undefined || kept.until <= Date.now()) {
      const until = Date.now() + KEPT_MS;
      const key = await lookups.lookUp(name);
      if (key === null) {
        live.delete(name);
        remember(unknown, name, Date.now() + UNKNOWN_KEPT_MS);
        return null;
      }
      kept = { key, until };
      remember(live, name, kept);
    }
    const { expiresAt } = kept.key;
    return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? null : kept.key;
  };
}

function remember<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.size >= MAX_KEPT) map.clear();
  map.set(name, value);
}
