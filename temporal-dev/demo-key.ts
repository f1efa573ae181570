import { openDataSource } from '../src/db/data-source.js';
import { createKey, findLiveKey, hashOf } from '../src/projects/api-keys.js';
import { SCOPES } from '../src/projects/permissions.js';
import { readKept, writeKept } from './data-dir.js';

/**
 * Returns the demo API key. Reuses the key of the last start while it is valid, so that its project stays the same.
 */
export async function keepDemoKey(databaseUrl: string, dataDir: string): Promise<string> {
  const db = await openDataSource(databaseUrl, 2, 'start');
  try {
    const kept = readKept(dataDir, 'demo-key');
    const live = kept === null ? null : await findLiveKey(db, hashOf(kept));
    // A key of an older version lacks the permissions that came later.
    if (live !== null && SCOPES.every((scope) => live.scopes.has(scope))) return kept!;
    const { key } = await createKey(db, { project: 'demo' });
    writeKept(dataDir, 'demo-key', key);
    return key;
  } finally {
    await db.destroy();
  }
}
