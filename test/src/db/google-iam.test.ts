import { expect } from 'chai';
import pg from 'pg';
import { clientConfig } from '../../../src/db/client-config.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { Listener } from '../../../src/db/listen.js';
import { loadConfig } from '../../../src/platform/config.js';
import { databaseAddress } from '../../../src/platform/database-address.js';
import { createLogger } from '../../../src/platform/logger.js';
import { GoogleWire } from '../../support/google-wire.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

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
    await admin.query(`CREATE ROLE "${ROLE}" LOGIN PASSWORD '${wire.tokens[0]}'`);
  });
  after(async () => {
    for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
    Object.assign(process.env, saved);
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

  it('logs in with the token: pool and LISTEN alike', async () => {
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

  it('is refused together with a password', () => {
    const env = { ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'), DATABASE_AUTH: 'google_iam' };
    expect(() => loadConfig({ ...env, DATABASE_URL: 'postgres://a:b@host/c' })).to.throw(/remove one of them/);
    const config = loadConfig({ ...env, DATABASE_URL: 'postgres://a%40b.iam@host/c?sslmode=verify-full' });
    expect(clientConfig(config.databaseUrl)).to.include({ user: 'a@b.iam', host: 'host', database: 'c' });
  });
});
