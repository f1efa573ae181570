import { expect } from 'chai';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/platform/free-port.js';
import pg from 'pg';
import { EmbeddedServer } from '../../dev/server-process.js';
import { serverUser } from '../../dev/postgres-user.js';
import { prepareLoad } from '../../test/support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../../test/support/fault-system.js';

const TURNS = 40;

/**
 * `npm run check -- pooler`, run by hand: it needs a PgBouncer of 1.21 or later (PGBOUNCER names it, else PATH). API and worker
 * go through it in transaction mode, with fewer connections to Postgres than they open to it; LISTEN goes past it.
 */
describe('the service behind a pooler', function () {
  this.timeout(180_000);
  let system: FaultSystem;
  let pooler: EmbeddedServer;
  let admin: pg.Client;
  let dir: string;
  before(async () => {
    system = await startFaultSystem({ apis: 0, workers: 0 });
    const direct = new URL((system.db.options.extra as { connectionString: string }).connectionString);
    dir = mkdtempSync(join(tmpdir(), 'pooler-'));
    const port = await freePort();
    const { hostname, port: target, username, password } = direct;
    const config = join(dir, 'pgbouncer.ini');
    writeFileSync(
      config,
      `[databases]
* = host=${hostname} port=${target} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = ${username}
pool_mode = transaction
default_pool_size = 6
max_prepared_statements = 500
ignore_startup_parameters = options
logfile = ${join(dir, 'pgbouncer.log')}
`,
    );
    const user = serverUser();
    if (user !== undefined) for (const path of [dir, config]) chownSync(path, user.uid, user.gid);
    pooler = await EmbeddedServer.start(
      'PgBouncer',
      {
        command: process.env.PGBOUNCER ?? 'pgbouncer',
        args: [config],
        dataDir: dir,
        name: 'out',
        stopSignal: 'SIGINT',
        env: process.env,
        ...(user !== undefined && { uid: user.uid, gid: user.gid }),
      },
      async () => {
        const client = new pg.Client({ host: '127.0.0.1', port, user: username, database: 'pgbouncer' });
        return client.connect().then(
          () => client.end().then(() => true),
          () => false,
        );
      },
    );
    const pooled = new URL(direct);
    pooled.port = String(port);
    const env = { DATABASE_URL: pooled.href, DATABASE_LISTEN_URL: direct.href };
    await Promise.all(['api', 'api', 'worker', 'worker'].map((role) => system.addRole(role as 'api' | 'worker', env)));
    admin = new pg.Client({ host: '127.0.0.1', port, user: username, database: 'pgbouncer' });
    await admin.connect();
  });
  after(async () => {
    await admin.end();
    await system.close();
    await pooler.stop();
    rmSync(dir, { recursive: true });
  });

  it('the service behind a pooler runs turns with tools and streams, each once', async () => {
    const startLoad = await prepareLoad(system);
    const load = await startLoad(TURNS, { words: 10, everyMs: 30 });
    await load.verify();
  });

  it('the service behind a pooler shares a few connections to Postgres', async () => {
    const { rows: pools } = await admin.query<{
      database: string;
      cl_active: string;
      sv_active: string;
      sv_idle: string;
    }>('SHOW POOLS');
    const [pool] = pools.filter(({ database }) => database.startsWith('test_'));
    const servers = Number(pool!.sv_active) + Number(pool!.sv_idle);
    console.log(`      ${pool!.cl_active} clients on ${servers} connections`);
    expect(servers).to.be.at.most(6);
    expect(Number(pool!.cl_active)).to.be.greaterThan(servers);
  });
});
