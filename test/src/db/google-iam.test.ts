import { expect } from 'chai';
import pg from 'pg';
import type { Database } from '../../../src/db/db.js';
import { storeWithRetries } from '../../../src/steps/store-with-retries.js';
import { startApi } from '../../../api/main.js';
import { databaseUrlOf } from '../../../ops/command.js';
import { clientConfig, databaseTokens } from '../../../src/db/client-config.js';
import { LoginRefusedError } from '../../../src/db/connect-error.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { Listener } from '../../../src/db/listen.js';
import { openWhenReachable } from '../../../src/db/schema-version.js';
import { isDatabaseAway } from '../../../src/db/transaction.js';
import { CredentialsError } from '../../../src/platform/bearer-tokens.js';
import { loadConfig } from '../../../src/platform/config.js';
import { databaseAddress } from '../../../src/platform/database-address.js';
import { createLogger } from '../../../src/platform/logger.js';
import { startFailure } from '../../../src/platform/setup-error.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure.js';
import { GoogleWire } from '../../support/google-wire.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { startService } from '../../support/service.js';

/** A role whose password is the token that the metadata server gives, as Cloud SQL has it for a Google account. */
const ROLE = 'agent-session-api@test-project.iam';

describe('DATABASE_AUTH=google_iam', () => {
  let saved: NodeJS.ProcessEnv;
  let database: TestDatabase;
  let wire: GoogleWire;
  let admin: pg.Client;
  let address: string;
  before(async () => {
    saved = { ...process.env };
    [database, wire] = await Promise.all([createTestDatabase(), new GoogleWire('', '').listen()]);
    Object.assign(process.env, wire.environment(''));
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    const url = new URL(database.url);
    url.username = encodeURIComponent(ROLE);
    url.password = '';
    address = databaseAddress(url.href, 'google_iam');
    await expectRefused();
    await admin.query(`CREATE ROLE "${ROLE}" LOGIN SUPERUSER PASSWORD '${wire.tokens[0]}'`);
    wire.keepsToken = true;
  });
  after(async () => {
    for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
    Object.assign(process.env, saved);
    // It may have made the partition of this month.
    await admin.query(`REASSIGN OWNED BY "${ROLE}" TO CURRENT_USER`);
    await admin.query(`DROP ROLE "${ROLE}"`);
    await admin.end();
    await Promise.all([wire.close(), database.drop()]);
  });

  async function expectRefused(): Promise<void> {
    const client = new pg.Client(clientConfig(address));
    const error = await client.connect().then(
      () => expect.fail('the role does not exist yet'),
      (thrown: Error) => thrown,
    );
    await client.end();
    expect(error.message).to.contain('password authentication failed');
  }

  it('DATABASE_AUTH=google_iam logs in with the token: pool and LISTEN alike', async () => {
    const db = await openDataSource(address, 2, 'test');
    expect(await db.query('SELECT current_user AS name')).to.deep.equal([{ name: ROLE }]);
    await db.destroy();
    const notified = new Promise<string>((resolve) => {
      const listener: Listener = new Listener(
        address,
        {
          onConnect: () => void listener.add('iam').then(() => admin.query(`NOTIFY iam, 'hello'`)),
          onPayload: (payload) => void listener.close().then(() => resolve(payload)),
        },
        createLogger('silent', 'test'),
      );
    });
    expect(await notified).to.equal('hello');
    expect(wire.tokens, 'kept until it ends').to.have.length(1);
  });

  /** The next connection needs a new token. */
  async function loseConnections(): Promise<void> {
    databaseTokens.renew(wire.tokens[0]!);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`);
  }

  it('DATABASE_AUTH=google_iam asks for a token that is good for logins only', () => {
    expect(wire.scopes).to.not.be.empty;
    for (const scopes of wire.scopes) expect(scopes).to.equal('https://www.googleapis.com/auth/sqlservice.login');
  });

  it('DATABASE_AUTH=google_iam counts a token that does not come as Postgres away: what was done is stored later', async () => {
    const db = await openDataSource(address, 1, 'test');
    wire.metadataFailures = 1;
    await loseConnections();
    const errors: unknown[] = [];
    const store = async (): Promise<unknown> =>
      db
        .transaction((tx) => tx.query('SELECT 1 AS stored'))
        .catch((error: unknown) => {
          errors.push(error);
          throw error;
        });
    expect(await storeWithRetries(store, new AbortController().signal)).to.deep.equal([{ stored: 1 }]);
    expect(errors.map((error) => (error as { cause?: unknown }).cause)).to.satisfy((causes: unknown[]) =>
      causes.some((cause) => cause instanceof CredentialsError),
    );
    await db.destroy();
    await eventually('no connection waits for a password', async () => {
      const { rowCount } = await admin.query(`SELECT FROM pg_stat_activity WHERE usename = '${ROLE}'`);
      return rowCount === 0;
    });
  });

  it('DATABASE_AUTH=google_iam lets the API answer 503 and a process that starts wait until tokens come again', async () => {
    const service = await startService({ databaseUrl: address });
    wire.metadataFailures = Number.POSITIVE_INFINITY;
    const form = new FormData();
    form.append('file', new Blob(['x']), 'x.txt');
    // A connection that was being opened may still come.
    await eventually('no request has a connection', async () => {
      await loseConnections();
      const answers = [await service.api('GET', '/v1/sessions'), await service.api('POST', '/v1/files', form)];
      return answers.every(({ status, headers }) => status === 503 && Number(headers.get('retry-after')) > 0);
    });
    let waits!: () => void;
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    const log = createLogger('warn', 'test', { write: (line) => line.includes('Postgres is away') && waits() });
    const started = startApi({ ...service.config, port: 0 }, log);
    await waiting;
    wire.metadataFailures = 0;
    await (await started).close();
    await eventually(
      'files are stored again',
      async () => (await service.api('POST', '/v1/files', form)).status === 201,
    );
    await service.close();
  });

  it('DATABASE_AUTH=google_iam says what to do about a login that Postgres refuses, and does not wait', async () => {
    const db = await openDataSource(address, 1, 'test');
    await admin.query(`ALTER ROLE "${ROLE}" PASSWORD 'other'`);
    await loseConnections();
    // The connection that was lost counts as away.
    const store = (): Promise<unknown> => db.query('SELECT 1');
    const error = await failureOf(storeWithRetries(store, new AbortController().signal));
    expect(isDatabaseAway(error)).to.equal(false);
    expect(startFailure(error)).to.match(/^Postgres refuses the login: .+\. Check user, password/);
    expect(startFailure(error)).to.not.contain(' at ');
    const open = (): Promise<Database> => openDataSource(address, 1, 'test');
    expect(await failureOf(openWhenReachable(open, createLogger('silent', 'test')))).to.be.instanceOf(
      LoginRefusedError,
    );
    await admin.query(`ALTER ROLE "${ROLE}" PASSWORD '${wire.tokens[0]}'`);
    await db.destroy();
  });

  it('DATABASE_AUTH=google_iam is refused together with a password, and unless the server is verified', () => {
    const env = { ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'), DATABASE_AUTH: 'google_iam' };
    expect(() => loadConfig({ ...env, DATABASE_URL: 'postgres://a:b@host/c' })).to.throw(/remove one of them/);
    const full = 'postgres://a%40b.iam@host/c?sslmode=verify-full';
    const config = loadConfig({ ...env, DATABASE_URL: full });
    expect(clientConfig(config.databaseUrl)).to.include({ user: 'a@b.iam', host: 'host', database: 'c' });
    const unverified = [
      '',
      '?sslmode=require',
      '?sslmode=verify-ca',
      '?sslmode=verify-full&sslmode=disable',
      '?host=/cloudsql/x',
    ];
    for (const parameters of unverified) {
      const DATABASE_URL = `postgres://a%40b.iam@127.0.0.1/c${parameters}`;
      const refused = /DATABASE_URL needs sslmode=verify-full/;
      expect(() => loadConfig({ ...env, DATABASE_URL }), parameters).to.throw(refused);
      expect(() => databaseUrlOf({ ...env, DATABASE_URL }), parameters).to.throw(refused);
      const DATABASE_LISTEN_URL = DATABASE_URL;
      expect(() => loadConfig({ ...env, DATABASE_URL: full, DATABASE_LISTEN_URL })).to.throw(
        /DATABASE_LISTEN_URL needs/,
      );
    }
  });
});
