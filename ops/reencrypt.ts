import { openDataSource } from '../src/db/data-source.js';
import { reencryptSecrets } from '../src/db/reencrypt.js';
import { ConfigError, loadConfig } from '../src/platform/config.js';

/** `npm run reencrypt`: run it after a new key was put in front of ENCRYPTION_KEY, and before the old key is removed. */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const db = await openDataSource(config.databaseUrl, 2, 'reencrypt');
  const count = await reencryptSecrets(db, config.encryptionKeys).finally(() => db.destroy());
  console.log(`${count} secret${count === 1 ? '' : 's'} sealed with the newest key.`);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
});
