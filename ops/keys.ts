import { resolve } from 'node:path';
import { migrate } from '../src/db/migrate.js';
import { runKeysCli } from './keys-cli.js';

/**
 * `npm run keys`: on DATABASE_URL, else on the embedded database of DATA_DIR, whether the service runs or not. The image
 * has no embedded database: it is loaded only where it is asked for.
 */
const args = process.argv.slice(2);
const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir } = process.env;
try {
  process.exitCode = databaseUrl
    ? await runKeysCli(args, databaseUrl)
    : await (
        await import('../temporal-dev/embedded-postgres.js')
      ).withEmbeddedDatabase(resolve(dataDir || '.data'), async (url) => {
        await migrate(url);
        return runKeysCli(args, url);
      });
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
