import { cleanStorage, type CleanCounts, type CleanPosition } from '../src/files/maintenance.js';
import { adoptStorage } from '../src/files/ownership.js';
import { openStorage } from '../src/files/open-storage.js';
import type { Storage } from '../src/files/storage.js';
import { defaultStorageUrl } from '../src/platform/config.js';
import { isEntry } from '../src/platform/is-entry.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError, withDatabase } from './command.js';

const USAGE = `Usage: npm run maintenance -- storage [--older-than-hours 24] [--limit 1000] [--remove-missing]
       npm run maintenance -- adopt-storage`;

/**
 * `npm run maintenance -- storage`: cleans the whole storage in runs of `--limit` objects and prints the counts as JSON.
 * `adopt-storage`: marks the storage as this database's, after a restore.
 * @throws UsageError for wrong arguments; Error if the storage is unreachable or belongs to another database
 */
export async function runMaintenance(args: string[], databaseUrl: string, storage: Storage): Promise<void> {
  const { command, ...options } = optionsOf(args);
  await storage.check();
  await withDatabase(databaseUrl, 'maintenance', async (db) => {
    if (command === 'adopt-storage') {
      await adoptStorage(db, storage);
      console.log('The storage is marked as that of this database.');
      return;
    }
    const total: CleanCounts = { finishedDeletions: 0, removedObjects: 0, removedRows: 0 };
    let from: CleanPosition | null = null;
    do {
      const { next, ...counts } = await cleanStorage(db, storage, { ...options, from });
      for (const name of Object.keys(total) as (keyof CleanCounts)[]) total[name] += counts[name];
      from = next;
    } while (from !== null);
    console.log(JSON.stringify(total));
  });
}

interface Options {
  command: 'storage' | 'adopt-storage';
  olderThanSeconds: number;
  limit: number;
  removeMissing: boolean;
}

function optionsOf(args: string[]): Options {
  const { positionals, values } = parseOptions({
    args,
    allowPositionals: true,
    options: {
      'older-than-hours': { type: 'string', default: '24' },
      limit: { type: 'string', default: '1000' },
      'remove-missing': { type: 'boolean', default: false },
    },
  });
  const olderThanSeconds = Number(values['older-than-hours']) * 3600;
  const limit = Number(values.limit);
  const command = positionals.join(' ');
  const isKnown = command === 'storage' || command === 'adopt-storage';
  if (!isKnown || !(olderThanSeconds >= 0) || !(Number.isInteger(limit) && limit > 0)) {
    throw new UsageError(
      'Say `storage` or `adopt-storage`; --older-than-hours is 0 or more, --limit a positive integer.',
    );
  }
  return { command, olderThanSeconds, limit, removeMissing: values['remove-missing'] };
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => {
    const databaseUrl = databaseUrlOf(env);
    const storage = await openStorage({
      storageUrl: env.STORAGE_URL || defaultStorageUrl(env.DATA_DIR || '.data'),
      // Needed for download links only, which cleaning does not create.
      publicUrl: '',
      encryptionKeys: [],
    });
    await runMaintenance(argv.slice(2), databaseUrl, storage);
    return 0;
  });
}
