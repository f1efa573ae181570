import { openDataSource } from '../src/db/data-source.js';
import { reencryptSecrets } from '../src/db/reencrypt.js';
import { loadConfig } from '../src/platform/config.js';
import { runCommand } from './command.js';

/** `npm run reencrypt`: run it after a new key was put in front of ENCRYPTION_KEY, and before the old key is removed. */
await runCommand('Usage: npm run reencrypt', async () => {
  const config = loadConfig(process.env);
  const db = await openDataSource(config.databaseUrl, 2, 'reencrypt');
  try {
    const count = await reencryptSecrets(db, config.encryptionKeys);
    console.log(`${count} secret${count === 1 ? '' : 's'} sealed with the newest key.`);
    return 0;
  } finally {
    await db.destroy();
  }
});
