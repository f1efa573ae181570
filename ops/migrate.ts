import { migrate } from '../src/db/migrate.js';
import { runCommand, UsageError } from './command.js';

/** `npm run migrate`: brings the database of DATABASE_URL up to date. */
await runCommand('Usage: DATABASE_URL=postgres://… npm run migrate', async () => {
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) throw new UsageError('Set DATABASE_URL (npm start migrates its own database).');
  const names = await migrate(databaseUrl);
  console.log(names.length === 0 ? 'The database is up to date.' : `Migrated: ${names.join(', ')}.`);
  return 0;
});
