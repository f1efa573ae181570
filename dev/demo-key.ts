import { openDataSource } from '../src/db/data-source.js';
import { createKey, findKeysByHash } from '../src/projects/api-keys.js';
import { EVERY_GROUP } from '../src/projects/approver-groups.js';
import { hashOf } from '../src/projects/key-secret.js';
import { SCOPES } from '../src/projects/permissions.js';
import { readKept, writeKept } from './data-dir.js';

/**
 * Returns the demo API key. Reuses the key of the last start while it is valid, so that its project stays the same.
 */
export async function keepDemoKey(databaseUrl: string, dataDir: string): Promise<string> {
  const db = await openDataSource(databaseUrl, 2, 'start');
  try {
    const kept = readKept(dataDir, 'demo-key');
    const keys = await findKeysByHash(db, kept === null ? [] : [hashOf(kept).toString('base64')]);
    const [live] = keys.values();
    // A key of an older version lacks the permissions that came later.
    if (live !== undefined && SCOPES.every((scope) => live.scopes.has(scope))) return kept!;
    const { key } = await createKey(db, { project: 'demo', scopes: SCOPES, approverGroups: [EVERY_GROUP] });
    writeKept(dataDir, 'demo-key', key);
    return key;
  } finally {
    await db.destroy();
  }
}
