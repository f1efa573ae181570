import { expect } from 'chai';
import pg from 'pg';
import type { Finding } from '../../../ops/doctor/check.js';
import { diagnose } from '../../../ops/doctor/diagnose.js';
import { startApi } from '../../../api/main.js';
import { startWorker } from '../../../activities/main.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { migrate } from '../../../src/db/migrate.js';
import { migrationOf, readMigration } from '../../../src/db/migrations/index.js';
import { postgresState, waitForSchema } from '../../../src/db/schema-version.js';
import { createLogger } from '../../../src/platform/logger.js';
import { startFailure } from '../../../src/platform/setup-error.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure.js';
import { migrationTitles } from '../../support/migration-titles.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { useService } from '../../support/use.js';

/** A database with the current schema, or an empty one, and a connection to it. */
function useClient(create: () => Promise<TestDatabase>): { database: TestDatabase; client: pg.Client } {
  const used = {} as { database: TestDatabase; client: pg.Client };
  beforeEach(async () => {
    used.database = await create();
    used.client = new pg.Client({ connectionString: used.database.url });
    await used.client.connect();
  });
  afterEach(async () => {
    await used.client.end();
    await used.database.drop();
  });
  return used;
}

describe('migrations of an empty database', () => {
  const used = useClient(createEmptyDatabase);

  it('migrations of an empty database run once, however many processes migrate it at the same time', async () => {
    const ran = await Promise.all([1, 2, 3].map(() => migrate(used.database.url)));
    expect(ran.flat()).to.deep.equal(migrationTitles);
    expect(await migrate(used.database.url)).to.deep.equal([]);
  });

  it('migrations of an empty database that wait for a lock say that, and no failure; one that fails says its name', async () => {
    const { client, database } = used;
    const printed: unknown[] = [];
    const notes: string[] = [];
    const { log } = console;
    console.log = (...line: unknown[]) => void printed.push(line);
    try {
      await client.query('BEGIN');
      await client.query('CREATE TABLE projects ()');
      const migrated = migrate(database.url, (line) => notes.push(line));
      await eventually('the migration has given up once', () => notes.length > 0);
      await client.query('ROLLBACK');
      expect(await migrated).to.deep.equal(migrationTitles);
      expect(notes[0]).to.equal('A migration waits for a lock, tries again (1 of 29). The service goes on meanwhile.');
      expect(notes.join()).to.not.include('failed');

      await client.query('DELETE FROM migrations');
      notes.length = 0;
      const { message } = await failureOf(migrate(database.url, (line) => notes.push(line)));
      expect(message).to.match(/relation "projects" already exists/);
      expect(notes).to.deep.equal([
        'Migration "baseline-0000000000001" failed, error: relation "projects" already exists',
      ]);
      expect(printed).to.deep.equal([]);
    } finally {
      console.log = log;
    }
  });
});

describe('migrations of a database of 1-baseline', () => {
  const used = useClient(createEmptyDatabase);

  it('migrations of a database of 1-baseline give its sessions and turns their configurations, open turns too, while a process of that build adds some', async () => {
    const { client, database } = used;
    await client.query(readMigration('1-baseline.sql'));
    await client.query(
      `CREATE TABLE migrations (id serial PRIMARY KEY, timestamp bigint NOT NULL, name varchar NOT NULL)`,
    );
    await client.query(`INSERT INTO migrations (timestamp, name) VALUES (1, 'baseline-0000000000001')`);
    await client.query(`INSERT INTO projects (id, name) VALUES ('proj', 'demo')`);
    const add = async (count: number, prefix: string): Promise<void> => {
      await client.query(
        `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, tools)
         SELECT $1 || n, 'proj', 'model-' || n, true, 'Be brief.', '{mcp_1}', '{}', '[{"type": "wait"}]'
         FROM generate_series(1, $2::integer) AS n`,
        [prefix, count],
      );
      await client.query(
        `INSERT INTO turns (id, session_id, project_id, number, state)
         SELECT 'turn_' || id, id, project_id, 1, 'running' FROM sessions WHERE starts_with(id, $1)`,
        [prefix],
      );
    };
    await add(2500, 'ses_before_');
    expect(await migrate(database.url)).to.deep.equal(migrationTitles.slice(1));
    await add(1, 'ses_after_');
    const { rows } = await client.query(
      `SELECT count(*)::integer AS turns, count(DISTINCT c.id)::integer AS configurations,
         bool_and(c.id = s.configuration_id AND c.model_id = s.model_id AND c.instruction = s.instruction
           AND c.mcp_servers = s.mcp_servers AND c.tools::text = s.tools::text) AS equal
       FROM turns t JOIN sessions s ON s.id = t.session_id JOIN configurations c ON c.id = t.configuration_id`,
    );
    expect(rows).to.deep.equal([{ turns: 2501, configurations: 2501, equal: true }]);
    // Interrupted, it runs again.
    await client.query(`UPDATE turns SET configuration_id = NULL WHERE id < 'turn_ses_before_2'`);
    await client.query(`DELETE FROM migrations WHERE timestamp = 3`);
    expect(await migrate(database.url)).to.deep.equal(migrationTitles.slice(2, 3));
    expect((await client.query('SELECT FROM turns WHERE configuration_id IS NULL')).rowCount).to.equal(0);
  });
});

describe('migrations', () => {
  const used = useClient(createTestDatabase);

  it('migrations do not make others wait behind them for a lock, and try again', async () => {
    const { client, database } = used;
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
  });

  it('migrations are waited for by the processes that need them', async () => {
    const { client, database } = used;
    const { rows } = await client.query<{ name: string; timestamp: string }>(
      'DELETE FROM migrations RETURNING name, timestamp',
    );
    const db = await openDataSource(database.url, 2, 'test');
    try {
      expect(await postgresState(db)).to.deep.equal({ postgres: 'away' });
      let isDone = false;
      let isMissed!: () => void;
      const missed = new Promise<void>((resolve) => (isMissed = resolve));
      const log = createLogger('warn', 'test', { write: (line) => line.includes('1-baseline.sql') && isMissed() });
      const waited = waitForSchema(db, log).then(() => (isDone = true));
      await missed;
      expect(isDone).to.equal(false);
      for (const { name, timestamp } of rows) {
        await client.query('INSERT INTO migrations (name, timestamp) VALUES ($1, $2)', [name, timestamp]);
      }
      await waited;
      expect(await postgresState(db)).to.deep.equal({ postgres: 'ok' });
    } finally {
      await db.destroy();
    }
  });

  it('migrations run in a transaction each, but for files that ask for none: those build an index beside the work, again after a build that was interrupted', async () => {
    const { client, database } = used;
    const db = await openDataSource(database.url, 2, 'test', 'migration');
    const runner = db.createQueryRunner();
    const build = (unique: string): string => `-- no transaction
-- Of duplicates.
DROP INDEX CONCURRENTLY IF EXISTS numbers_n;
CREATE ${unique} INDEX CONCURRENTLY numbers_n
  ON numbers (n);
`;
    const run = (text: string): Promise<void> => {
      const migration = new (migrationOf({ number: 2, file: '2-numbers.sql' }, text))();
      expect(migration.transaction).to.equal(!text.startsWith('-- no transaction'));
      return migration.up(runner) as Promise<void>;
    };
    const valid = async (): Promise<boolean[]> => {
      const { rows } = await client.query<{ indisvalid: boolean }>(
        `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('numbers_n')`,
      );
      return rows.map(({ indisvalid }) => indisvalid);
    };
    try {
      await run('CREATE TABLE numbers (n integer);\nINSERT INTO numbers VALUES (1), (1);\n');
      await failureOf(run(build('UNIQUE')));
      expect(await valid()).to.deep.equal([false]);
      await run(build(''));
      expect(await valid()).to.deep.equal([true]);
    } finally {
      await runner.release();
      await db.destroy();
    }
  });
});

/** What the table `migrations` says beside the baseline. */
const REFUSED = {
  'another migration of the same number': `UPDATE migrations SET name = 'other-0000000000001'`,
  'migrations of another line': `INSERT INTO migrations VALUES (0, 1700000000002, 'Turns1700000000002')`,
  'a migration of before 1.0.0 that nothing takes over': `UPDATE migrations SET name = 'Initial1800000000001'`,
};
const SENTENCE = /^This database (?:was made by|is of) .+\(.+\)\. (?:Keep a dump of it|Run npm run migrate) .+\.$/;

describe('a database of another version', () => {
  const used = useClient(createTestDatabase);
  const service = useService({ own: 'its table of migrations changes' });

  for (const [name, change] of Object.entries(REFUSED)) {
    it(`a database of another version is refused by the migration, the doctor, and an API and a worker that start: ${name}`, async () => {
      const { client, database } = used;
      await client.query(change);
      expect((await failureOf(migrate(database.url))).message).to.match(SENTENCE);
      const config = { ...service.config, databaseUrl: database.url, databaseListenUrl: database.url };
      for (const start of [startApi, startWorker]) {
        expect(startFailure(await failureOf(start(config, createLogger('silent', 'test')))), start.name).to.match(
          SENTENCE,
        );
      }
      const { ok, detail, remedy } = await schemaOf(database.url, config.modelsFile!);
      expect(ok).to.equal(false);
      expect(`T${detail.slice(1)}. ${remedy}`).to.match(SENTENCE);
    });
  }

  it('a database of another version is not ready, and says why', async () => {
    const api = await service.anotherApi();
    await service.db.query(REFUSED['another migration of the same number']);
    const answer = await fetch(`${api.url}/readyz`);
    expect(answer.status).to.equal(503);
    const body = (await answer.json()) as { postgres: string; reason: string };
    expect(body.postgres).to.equal('away');
    expect(body.reason).to.match(SENTENCE);
  });

  it('a database of another version serves this one if that is newer', async () => {
    const { client, database } = used;
    await client.query(`INSERT INTO migrations (timestamp, name) VALUES (9999, 'later-0000000009999')`);
    expect(await migrate(database.url)).to.deep.equal([]);
    const db = await openDataSource(database.url, 1, 'test');
    expect(await postgresState(db)).to.deep.equal({ postgres: 'ok' });
    await db.destroy();
    const { ok, detail } = await schemaOf(database.url, service.config.modelsFile!);
    expect([ok, detail]).to.deep.equal([true, 'current, with 1 migrations of a newer version']);
  });
});

async function schemaOf(databaseUrl: string, modelsFile: string): Promise<Finding> {
  const env = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    MODELS_FILE: modelsFile,
  };
  return (await diagnose(env)).find(({ part }) => part === 'schema') as Finding;
}
