import { resolve } from 'node:path';
import { defaultStorageUrl } from '../src/platform/config.js';
import { runMaintenanceCli } from './maintenance-cli.js';
import { openStorage } from '../src/files/open-storage.js';
import { withEmbeddedDatabase } from '../temporal-dev/embedded-postgres.js';

/** `npm run maintenance`: on DATABASE_URL and STORAGE_URL, else on what DATA_DIR has, whether the service runs or not. */
const args = process.argv.slice(2);
const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, STORAGE_URL: storageUrl } = process.env;
const storage = openStorage({
  storageUrl: storageUrl || defaultStorageUrl(dataDir || '.data'),
  // For links only; cleaning makes none.
  publicUrl: '',
  encryptionKeys: [],
});
try {
  const clean = (url: string): Promise<void> => runMaintenanceCli(args, url, storage);
  await (databaseUrl ? clean(databaseUrl) : withEmbeddedDatabase(resolve(dataDir || '.data'), clean));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
