import type { QueryRunner } from 'typeorm';
import type { Database } from './db.js';
import { foldCase } from '../platform/fold-case.js';
import { SchemaRefusedError } from './applied-migrations.js';
import { migrationFiles, nameOf, readMigration } from './migrations/index.js';

const BATCH = 500;

/**
 * Turns a database of before 1.0.0, whose last migration was `last`, into one of the baseline, in one transaction.
 * @throws SchemaRefusedError if a turn is open
 */
export async function adopt(db: Database, last: number): Promise<void> {
  const runner = db.createQueryRunner();
  await runner.startTransaction();
  try {
    // From here on no turn begins.
    await runner.query('LOCK TABLE open_turns IN SHARE ROW EXCLUSIVE MODE');
    await requireNoOpenTurn(runner);
    for (const { number, text } of sections()) if (number > last) await runner.query(text);
    await foldPreviews(runner);
    await runner.query('DROP TABLE migration_fingerprints; DELETE FROM migrations');
    const baseline = migrationFiles[0]!;
    const values = [baseline.number, nameOf(baseline)];
    await runner.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', values);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  } finally {
    await runner.release();
  }
}

/** What each migration of before 1.0.0 did, from `-- 17 name` to the next such line. */
function sections(): { number: number; text: string }[] {
  return readMigration('adopt.sql')
    .split(/^(?=-- \d+ )/m)
    .slice(1)
    .map((text) => ({ number: Number.parseInt(text.slice('-- '.length), 10), text }));
}

async function requireNoOpenTurn(runner: QueryRunner): Promise<void> {
  const [{ open }] = (await runner.query('SELECT count(*)::integer AS open FROM open_turns')) as [{ open: number }];
  if (open === 0) return;
  throw new SchemaRefusedError(
    `this database is of a version before 1.0.0 and has open turns (${open}), which this version cannot go on with`,
    'Start the version that made it, let the turns end or cancel them, stop all its processes, and migrate again.',
  );
}

/** Of sessions whose preview is not folded yet. No function that every Postgres has folds as searches do. */
async function foldPreviews(runner: QueryRunner): Promise<void> {
  for (let after = ''; ;) {
    const sessions = (await runner.query(
      `SELECT id, preview FROM sessions WHERE id > $1 AND preview IS NOT NULL AND preview_folded IS NULL
       ORDER BY id LIMIT ${BATCH}`,
      [after],
    )) as { id: string; preview: string }[];
    if (sessions.length === 0) return;
    after = sessions.at(-1)!.id;
    const values = [sessions.map(({ id }) => id), sessions.map(({ preview }) => foldCase(preview))];
    for (const [table, id] of [
      ['sessions', 'id'],
      ['session_states', 'session_id'],
    ]) {
      await runner.query(
        `UPDATE ${table} SET preview_folded = folded.text FROM unnest($1::text[], $2::text[]) AS folded (id, text)
         WHERE ${table}.${id} = folded.id`,
        values,
      );
    }
  }
}
