import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { openDataSource } from '../../../src/db/data-source.js';
import { createIndexConcurrently } from '../../../src/db/concurrent-index.js';
import { migrate } from '../../../src/db/migrate.js';
import { postgresState, waitForSchema } from '../../../src/db/schema-version.js';
import { createLogger } from '../../../src/platform/logger.js';
import { eventually } from '../../support/eventually.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

const MIGRATIONS = new URL('../../../src/db/migrations/', import.meta.url);

describe('migrations', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeEach(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  it('migrations do not make others wait behind them for a lock, and try again', async () => {
    // The newest migration is forgotten; its first lock is one that another transaction holds.
    const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
    await client.query('BEGIN');
    await client.query('LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE');
    const migrated = migrate(database.url, () => undefined);
    // Within the transaction that holds the lock, pg_locks still shows others that wait for it.
    const waiting = async (): Promise<boolean> => {
      const { rowCount } = await client.query(
        `SELECT FROM pg_locks WHERE relation = 'migrations'::regclass AND NOT granted`,
      );
      return rowCount! > 0;
    };
    await eventually('the migration waits for the lock', waiting);
    await eventually('the migration has given up', async () => !(await waiting()));
    await client.query('COMMIT');
    expect(await migrated).to.deep.equal([]);
    expect(rows).to.not.be.empty;
  });

  it('migrations that wait for a lock say that, and no failure; one that fails says its name', async () => {
    const newest = 'AnswersOfResources1800000000019';
    const forget = (): Promise<unknown> => client.query('DELETE FROM migrations WHERE name = $1', [newest]);
    await forget();
    await client.query('BEGIN');
    await client.query('LOCK TABLE idempotency_records IN ACCESS SHARE MODE');
    const notes: string[] = [];
    const printed: unknown[] = [];
    const { log } = console;
    console.log = (...line: unknown[]) => void printed.push(line);
    try {
      const migrated = migrate(database.url, (line) => notes.push(line));
      await eventually('the migration has given up once', () => notes.length > 0);
      await client.query('COMMIT');
      expect(await migrated).to.deep.equal([newest]);
      expect(notes[0]).to.equal('A migration waits for a lock, tries again (1 of 29). The service goes on meanwhile.');
      expect(notes.join()).to.not.include('failed');

      await forget();
      await client.query('ALTER TABLE idempotency_records RENAME TO elsewhere');
      notes.length = 0;
      const failure = await migrate(database.url, (line) => notes.push(line)).catch((error: Error) => error.message);
      expect(failure).to.match(/relation "idempotency_records" does not exist/);
      expect(notes).to.deep.equal([
        `Migration "${newest}" failed, error: relation "idempotency_records" does not exist`,
      ]);
      expect(printed).to.deep.equal([]);
    } finally {
      console.log = log;
    }
  });

  it('migrations are waited for by the processes that need them', async () => {
    const { rows } = await client.query<{ name: string; timestamp: string }>(
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING name, timestamp',
    );
    const db = await openDataSource(database.url, 2, 'test');
    try {
      expect(await postgresState(db)).to.deep.equal({ postgres: 'away' });
      let isDone = false;
      let isMissed!: () => void;
      const missed = new Promise<void>((resolve) => (isMissed = resolve));
      const log = createLogger('warn', 'test', { write: (line) => line.includes('lacks migrations') && isMissed() });
      const waited = waitForSchema(db, log).then(() => (isDone = true));
      await missed;
      expect(isDone).to.equal(false);
      await client.query('INSERT INTO migrations (name, timestamp) VALUES ($1, $2)', [
        rows[0]!.name,
        rows[0]!.timestamp,
      ]);
      await waited;
      expect(await postgresState(db)).to.deep.equal({ postgres: 'ok' });
    } finally {
      await db.destroy();
    }
  });

  it('migrations build an index concurrently, again after a build that was interrupted', async () => {
    const db = await openDataSource(database.url, 2, 'test', 'migration');
    const runner = db.createQueryRunner();
    const isValid = async (): Promise<boolean> =>
      (
        await client.query<{ indisvalid: boolean }>(
          `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('i')`,
        )
      ).rows[0]!.indisvalid;
    try {
      await client.query('CREATE TABLE t (n integer)');
      await client.query('INSERT INTO t VALUES (1), (1)');
      const failed: unknown = await createIndexConcurrently(runner, 'i', 'ON t (n)', { unique: true }).catch(
        (error: unknown) => error,
      );
      expect(failed).to.be.an('error');
      expect(await isValid()).to.equal(false);
      await createIndexConcurrently(runner, 'i', 'ON t (n)');
      expect(await isValid()).to.equal(true);
      await createIndexConcurrently(runner, 'i', 'ON t (n)');
    } finally {
      await runner.release();
      await db.destroy();
    }
  });

  it('migrations create indexes on older tables only concurrently', () => {
    for (const file of readdirSync(MIGRATIONS)) {
      const source = readFileSync(new URL(file, MIGRATIONS), 'utf8');
      const created = new Set([...source.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g)].map(([, table]) => table));
      for (const [statement, table = ''] of source.matchAll(/CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/g)) {
        expect(created.has(table), `${file}: ${statement} (use createIndexConcurrently)`).to.equal(true);
      }
    }
  });
});
