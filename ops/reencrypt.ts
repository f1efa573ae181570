import { ConfigError, loadConfig } from '../src/platform/config.js';
import { openDataSource } from '../src/db/data-source.js';
import { reencryptCredentials } from '../src/mcp/reencrypt.js';

/** `npm run mcp:reencrypt`: after a new key was put in front of ENCRYPTION_KEY, and before the old one is taken away. */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const db = await openDataSource(config.databaseUrl, 2, 'mcp-reencrypt');
  const count = await reencryptCredentials(db, config.encryptionKeys).finally(() => db.destroy());
  console.log(`${count} credential${count === 1 ? '' : 's'} sealed with the newest key.`);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
});
