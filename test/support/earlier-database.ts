import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { createEmptyDatabase, type TestDatabase } from './postgres.js';

const read = (file: string): string =>
  gunzipSync(readFileSync(new URL(`../src/db/earlier/${file}`, import.meta.url))).toString();

/**
 * A database of before 1.0.0 at migration 16: turns with calls, tasks and waits of every kind that ended in every way, forks, workspaces,
 * usage, files, skills, users, webhooks and schedules. `change` runs in it.
 */
export async function restoreEarlier(change = ''): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  await runIn(database.url, read('migration-16.sql.gz'));
  await runIn(database.url, change);
  return database;
}

/** What the build that filled the database answered about it, by path. */
export function earlierAnswers(): Record<string, unknown> {
  return JSON.parse(read('answers.json.gz')) as Record<string, unknown>;
}

async function runIn(connectionString: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}
