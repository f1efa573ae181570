import { migrate } from '../src/db/migrate.js';
import { databaseUrlOf, runCommand } from './command.js';

/** `npm run migrate`: brings the database of DATABASE_URL up to date. */
await runCommand('Usage: DATABASE_URL=postgres://… npm run migrate', async () => {
  const names = await migrate(databaseUrlOf(process.env));
  console.log(names.length === 0 ? 'The database is up to date.' : `Migrated: ${names.join(', ')}.`);
  return 0;
});
