import { reencryptSecrets } from '../src/db/reencrypt.js';
import { loadConfig } from '../src/platform/config.js';
import { runCommand, withDatabase } from './command.js';

/** `npm run reencrypt`: run it after a new key was put in front of ENCRYPTION_KEY, and before the old key is removed. */
await runCommand('Usage: npm run reencrypt', async () => {
  const config = loadConfig(process.env);
  const count = await withDatabase(config.databaseUrl, 'reencrypt', (db) =>
    reencryptSecrets(db, config.encryptionKeys),
  );
  console.log(`${count} secret${count === 1 ? '' : 's'} sealed with the newest key.`);
  return 0;
});
