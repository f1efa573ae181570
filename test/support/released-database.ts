import { readFileSync } from 'node:fs';
import pg from 'pg';
import { newId } from '../../src/platform/ids.js';
import { createEmptyDatabase, type TestDatabase } from './postgres.js';

const DUMP = readFileSync(new URL('../src/db/released.sql', import.meta.url), 'utf8');

/** Sessions of the dump: one has ended its turn, the other one waits for the answer to `toolu_3`. */
export const RELEASED_SESSIONS = { ended: 'ses_01m8anb0cjznvh0g9g92edjtj8', waiting: 'ses_01m8anb3td1ten237wmqmgw0aj' };

/** The turn that waits, and the one that the message behind it will start. */
const OPEN_TURNS = ['turn_01m8anb3v2t3bvxbxbj2wf4v9j', 'turn_01m8anb4403rnw3ws979qscwrc'];

/** A database as the first migration made it, with rows in each table; `change` runs in it. */
export async function restoreReleased(change = ''): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  // All tests share a Temporal server, where a turn's id names its workflow.
  const dump = OPEN_TURNS.reduce((text, id) => text.replaceAll(id, newId('turn')), DUMP);
  await runStatements(database.url, dump);
  // As if the dump was made just now: what waits in it still has its time.
  await runStatements(database.url, `UPDATE required_actions SET expires_at = now() + interval '1 day'`);
  await runStatements(database.url, change);
  return database;
}

async function runStatements(connectionString: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}
