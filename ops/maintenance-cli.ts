import { parseArgs } from 'node:util';
import { openDataSource } from '../src/db/data-source.js';
import { cleanStorage, type CleanCounts, type CleanPosition } from '../src/files/maintenance.js';
import type { Storage } from '../src/files/storage.js';

const USAGE = 'Usage: npm run maintenance -- storage [--older-than-hours 24] [--limit 1000]';

/**
 * `npm run maintenance -- storage`: cleans from one end to the other, in runs of `--limit`, and prints what it did as
 * JSON.
 * @throws Error for wrong arguments, a storage that is away, or one that is not this database's
 */
export async function runMaintenanceCli(args: string[], databaseUrl: string, storage: Storage): Promise<void> {
  const { olderThanSeconds, limit } = optionsOf(args);
  await storage.check();
  const db = await openDataSource(databaseUrl, 4, 'maintenance');
  try {
    const total: CleanCounts = { finishedDeletions: 0, removedObjects: 0, removedRows: 0 };
    let from: CleanPosition | null = null;
    do {
      const { next, ...counts } = await cleanStorage(db, storage, { olderThanSeconds, limit, from });
      for (const name of Object.keys(total) as (keyof CleanCounts)[]) total[name] += counts[name];
      from = next;
    } while (from !== null);
    console.log(JSON.stringify(total));
  } finally {
    await db.destroy();
  }
}

function optionsOf(args: string[]): { olderThanSeconds: number; limit: number } {
  const { positionals, values } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      'older-than-hours': { type: 'string', default: '24' },
      limit: { type: 'string', default: '1000' },
    },
  });
  const olderThanSeconds = Number(values['older-than-hours']) * 3600;
  const limit = Number(values.limit);
  if (positionals.join() !== 'storage' || !(olderThanSeconds >= 0) || !(Number.isInteger(limit) && limit > 0)) {
    throw new Error(USAGE);
  }
  return { olderThanSeconds, limit };
}
