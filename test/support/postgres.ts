import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import pg from 'pg';
import { migrate } from '../../src/db/migrate.js';
import { startPostgres as startEmbedded, type EmbeddedPostgres } from '../../dev/embedded-postgres.js';
import { makeStateDir } from './state-dir.js';

const MIGRATIONS = new URL('../../src/db/migrations/', import.meta.url);
/** Any number that nothing else uses: mocha's workers take turns at making the template. */
const TEMPLATE_LOCK = 4_211_907_553;

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** A database of the test file's own with the current schema, cloned from a template that is migrated once a run. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(ensureTemplate);
}

export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(() => Promise.resolve('template1'));
}

async function createDatabase(chooseTemplate: typeof ensureTemplate): Promise<TestDatabase> {
  const adminUrl = process.env.TEST_DATABASE_URL;
  if (adminUrl === undefined)
    throw new Error('TEST_DATABASE_URL is not set: mocha runs test/support/services.ts first');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdmin(adminUrl, async (client) => {
    const template = await chooseTemplate(client, adminUrl);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  return {
    url: urlOf(adminUrl, name),
    drop: () => asAdmin(adminUrl, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  };
}

/** A Postgres that a test may kill and start again, with its own state. */
export interface TestPostgres {
  /** A migrated database in it. */
  url: string;
  adminUrl: string;
  readonly pid: number;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
  /** On the same port and data. */
  restart(): Promise<void>;
  /** Ends it and removes its state. */
  stop(): Promise<void>;
}

/** Starts a Postgres apart from the run's own; `durable` (the default) makes what was committed survive a kill. */
export async function startPostgres({ durable = true }: { durable?: boolean } = {}): Promise<TestPostgres> {
  const dataDir = makeStateDir();
  const started = await startEmbedded({ dataDir, durable });
  await migrate(started.url);
  return testPostgres(started, dataDir);
}

/** A Postgres with its state in `dataDir`, which goes when the test stops it. */
export function testPostgres({ server, url, adminUrl }: EmbeddedPostgres, dataDir: string): TestPostgres {
  return {
    url,
    adminUrl,
    get pid() {
      return server.pid;
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The template is named after the migrations: another state of the sources gets another one. */
async function ensureTemplate(client: pg.Client, adminUrl: string): Promise<string> {
  const template = `template_${migrationsHash()}`;
  await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 0) {
      // Whatever bears the final name is whole, also when this process dies half-way.
      const draft = `${template}_draft`;
      await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
      await client.query(`CREATE DATABASE ${draft}`);
      await migrate(urlOf(adminUrl, draft));
      await client.query(`ALTER DATABASE ${draft} RENAME TO ${template}`);
    }
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
  return template;
}

function migrationsHash(): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(MIGRATIONS).sort()) hash.update(file).update(readFileSync(new URL(file, MIGRATIONS)));
  return hash.digest('hex').slice(0, 16);
}

async function asAdmin<T>(adminUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
}
