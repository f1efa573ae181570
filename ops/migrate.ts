import { migrate } from '../src/db/migrate.js';

const databaseUrl = process.env.DATABASE_URL;
if (databaseUrl === undefined || databaseUrl === '') {
  console.error('DATABASE_URL must name the database to migrate (npm start migrates its own).');
  process.exit(1);
}
const names = await migrate(databaseUrl);
console.log(names.length === 0 ? 'The database is up to date.' : `Migrated: ${names.join(', ')}.`);
