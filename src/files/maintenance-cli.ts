import { parseArgs } from 'node:util';
import { loadConfig } from '../config.js';
import { openDataSource } from '../db/data-source.js';
import { cleanStorage, type CleanPosition } from './maintenance.js';
import { openStorage } from './open-storage.js';

const USAGE = 'Usage: npm run maintenance -- storage [--older-than-hours 24] [--limit 1000]';

/** `npm run maintenance -- storage`: cleans from one end to the other, in runs of `--limit`, and prints what it did. */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
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
  const config = loadConfig(process.env);
  const storage = openStorage(config);
  await storage.check();
  const db = await openDataSource(config.databaseUrl, 4, 'maintenance');
  try {
    const total = { finishedDeletions: 0, removedObjects: 0, removedRows: 0 };
    let from: CleanPosition | null = null;
    do {
      const { next, ...counts } = await cleanStorage(db, storage, { olderThanSeconds, limit, from });
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += counts[name];
      from = next;
    } while (from !== null);
    console.log(JSON.stringify(total));
  } finally {
    await db.destroy();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
