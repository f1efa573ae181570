import { openDataSource } from '../src/db/data-source.js';
import { cleanStorage, type CleanCounts, type CleanPosition } from '../src/files/maintenance.js';
import { openStorage } from '../src/files/open-storage.js';
import type { Storage } from '../src/files/storage.js';
import { defaultStorageUrl } from '../src/platform/config.js';
import { isEntry } from '../src/platform/is-entry.js';
import { dataDirOf, onDatabase, parseOptions, runCommand, UsageError } from './command.js';

const USAGE = 'Usage: npm run maintenance -- storage [--older-than-hours 24] [--limit 1000]';

/**
 * `npm run maintenance -- storage`: cleans the whole storage in runs of `--limit` objects and prints the counts as JSON.
 * @throws UsageError for wrong arguments; Error for a storage that is away or belongs to another database
 */
export async function runMaintenance(args: string[], databaseUrl: string, storage: Storage): Promise<void> {
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
  const { positionals, values } = parseOptions({
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
    throw new UsageError('Say `storage`; --older-than-hours is 0 or more, --limit a positive integer.');
  }
  return { olderThanSeconds, limit };
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  await runCommand(USAGE, async () => {
    const storage = openStorage({
      storageUrl: env.STORAGE_URL || defaultStorageUrl(dataDirOf(env)),
      // For download links only; cleaning makes none.
      publicUrl: '',
      encryptionKeys: [],
    });
    await onDatabase(env, (url) => runMaintenance(argv.slice(2), url, storage));
    return 0;
  });
}
