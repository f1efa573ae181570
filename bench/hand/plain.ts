import { expect } from 'chai';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { freePort } from '../../src/platform/free-port.js';
import { eventually } from '../../test/support/eventually.js';
import { prepareLoad } from '../../test/support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../../test/support/fault-system.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { startProber, type Probed } from '../../test/support/prober.js';
import { startStandby, type Standby } from '../../test/support/standby.js';
import { clientTls, startTemporalCluster, type TemporalCluster } from '../../test/support/temporal-cluster.js';

const PLAIN = fileURLToPath(new URL('../../deploy/plain/', import.meta.url));
const WAVE = 6;
const PACE = { words: 20, everyMs: 100 };
/** Between the restarts of two processes behind a proxy: the ten seconds of nginx's default would be an outage. */
const RESTART_PAUSE_MS = 2_000;
const MAX_FAILOVER_MS = 5_000;

/**
 * `npm run check -- plain`, run by hand as root: it needs nginx, HAProxy, psql, openssl and Go (for the Temporal server, some minutes
 * the first time). Everything of deploy/plain together: nginx before two API processes, two workers, Temporal on Postgres with TLS, a
 * primary with a standby behind HAProxy. Restarts, a failover and a backup under load.
 */
describe('the service on plain machines', function () {
  this.timeout(900_000);
  const children: ChildProcess[] = [];
  let dir: string;
  let primary: TestPostgres;
  let standby: Standby;
  let temporal: TemporalCluster;
  let system: FaultSystem;
  let proxyUrl: string;
  let databasePort: number;
  let startLoad: Awaited<ReturnType<typeof prepareLoad>>;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'plain-'));
    chmodSync(dir, 0o755);
    primary = await startPostgres();
    await withClient(primary.adminUrl, (client) => client.query(`CREATE ROLE haproxy LOGIN PASSWORD 'check'`));
    standby = await startStandby(primary);
    await startHaproxy();
    const tlsDir = makeCertificates();
    temporal = await startTemporalCluster(primary.adminUrl, {
      through: { host: '127.0.0.1', port: databasePort },
      tlsDir,
    });
    const databaseUrl = through(primary.url);
    system = await startFaultSystem({
      ...{ apis: 2, workers: 2 },
      servers: { databaseUrl, temporalAddress: temporal.address, tls: clientTls(tlsDir) },
      env: {
        SHUTDOWN_DELAY_SECONDS: '1',
        TEMPORAL_TLS: 'true',
        TEMPORAL_TLS_SERVER_NAME: 'temporal',
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(tlsDir, 'ca.pem'),
        TEMPORAL_TLS_CLIENT_CERT_PATH: join(tlsDir, 'client.pem'),
        TEMPORAL_TLS_CLIENT_KEY_PATH: join(tlsDir, 'client.key'),
      },
    });
    await startNginx();
    startLoad = await prepareLoad(system);
  });
  after(async () => {
    await system?.close();
    await temporal?.stop();
    for (const child of children) child.kill('SIGTERM');
    await Promise.all([primary?.stop(), standby?.stop()]);
    rmSync(dir, { recursive: true, force: true });
  });

  /** The address of a database of the primary, by HAProxy. */
  function through(url: string): string {
    const changed = new URL(url);
    changed.port = String(databasePort);
    return changed.href;
  }

  async function run(command: string, args: string[], env: NodeJS.ProcessEnv, port: number): Promise<void> {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
    children.push(child);
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await eventually(`${command} listens`, async () => {
      if (child.exitCode !== null) throw new Error(`${command} ended: ${log}`);
      const socket = connect(port, '127.0.0.1');
      const isOpen = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      socket.destroy();
      return isOpen;
    });
  }

  async function startHaproxy(): Promise<void> {
    databasePort = await freePort();
    // The check's own login, which stands in ~haproxy/.pgpass on a machine.
    const check = join(dir, 'check.sh');
    writeFileSync(check, `#!/bin/sh\nexport PGPASSWORD=check\nexec sh ${PLAIN}is-primary.sh "$@"\n`, { mode: 0o755 });
    const env = {
      PRIMARY_BIND: `127.0.0.1:${databasePort}`,
      PRIMARY_CHECK: check,
      DB_1: new URL(primary.adminUrl).host,
      DB_2: new URL(standby.adminUrl).host,
    };
    await run('haproxy', ['-db', '-f', `${PLAIN}haproxy.cfg`], env, databasePort);
    await eventually('HAProxy leads to the primary', async () => {
      const isPrimary = await withClient(through(primary.url), async (client) => {
        const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
        return !(rows[0] as { standby: boolean }).standby;
      }).catch(() => false);
      return isPrimary;
    });
  }

  /** The page's configuration with the ports of this run, without TLS; and once with TLS, to be checked by nginx. */
  async function startNginx(): Promise<void> {
    const port = await freePort();
    proxyUrl = `http://127.0.0.1:${port}`;
    const shipped = readFileSync(`${PLAIN}nginx.conf`, 'utf8');
    const replaced = (text: string, replacements: Record<string, string>): string =>
      Object.entries(replacements).reduce((result, [from, to]) => {
        expect(result, 'the shipped configuration').to.contain(from);
        return result.replace(from, to);
      }, text);
    const ports = {
      '127.0.0.1:8080': new URL(system.apis[0]!.url).host,
      '127.0.0.1:8081': new URL(system.apis[1]!.url).host,
    };
    const certificate = {
      '/etc/ssl/agents.example.com.pem': join(dir, 'tls', 'server.pem'),
      '/etc/ssl/private/agents.example.com.key': join(dir, 'tls', 'server.key'),
    };
    const main = (include: string): string =>
      `daemon off; pid ${dir}/nginx.pid; error_log stderr; events {}\nhttp { access_log off; ` +
      ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${dir}/${name};`)
        .join(' ') +
      ` include ${include}; }\n`;
    for (const [name, text] of [
      ['tls', replaced(shipped, { ...ports, ...certificate, 'listen 443': `listen 127.0.0.1:${port}` })],
      [
        'plain',
        replaced(shipped, { ...ports, 'listen 443 ssl http2': `listen 127.0.0.1:${port}` }).replaceAll(
          /^ *ssl_.*\n/gm,
          '',
        ),
      ],
    ] as const) {
      writeFileSync(join(dir, `${name}.site`), text);
      writeFileSync(join(dir, `${name}.conf`), main(join(dir, `${name}.site`)));
    }
    execFileSync('nginx', ['-t', '-q', '-c', join(dir, 'tls.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    await run('nginx', ['-c', join(dir, 'plain.conf')], {}, port);
  }

  /** An authority, and the certificates of Temporal and of its clients: the commands of the page. */
  function makeCertificates(): string {
    const tls = join(dir, 'tls');
    mkdirSync(tls);
    execFileSync('sh', [`${PLAIN}temporal/certificates.sh`, tls], { stdio: 'pipe' });
    return tls;
  }

  async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** Runs `work` while turns begin and end and a prober asks through nginx. Then each turn has ended once. */
  async function underLoad(what: string, work: () => Promise<void>): Promise<Probed> {
    const prober = startProber(proxyUrl, system.key);
    const loads = [await startLoad(WAVE, PACE)];
    let isDone = false;
    const loading = (async () => {
      while (!isDone) {
        const next = await startLoad(WAVE, PACE);
        loads.push(next);
        await Promise.all((await next.turns).map((turn) => system.ended(turn, 180_000)));
      }
    })();
    await work().finally(() => (isDone = true));
    await loading;
    const probed = await prober.stop();
    const ends = await system.verify();
    for (const load of loads) await load.check(ends);
    console.log(`      ${what}: ${JSON.stringify({ turns: ends.length, lost: 0, ...probed })}`);
    return probed;
  }

  it('the service on plain machines is never away while its processes restart one after the other', async () => {
    const probed = await underLoad('restarts', async () => {
      for (const each of [...system.apis, ...system.workers]) {
        expect(await each.stop()).to.equal(0);
        await each.start();
        await sleep(RESTART_PAUSE_MS);
      }
    });
    expect(probed.failed, probed.reasons.join()).to.equal(0);
  });

  it('the service on plain machines keeps Temporal to clients with a certificate, and its size is known', async () => {
    const { Connection } = await import('@temporalio/client');
    for (const tls of [undefined, true as const]) {
      const refused: unknown = await Connection.connect({
        address: temporal.address,
        connectTimeout: 2000,
        ...(tls && { tls }),
      }).catch((error: unknown) => error);
      expect(refused, 'without a certificate').to.be.instanceOf(Error);
    }
    const bytes = (): Promise<number> =>
      withClient(primary.adminUrl, async (client) => {
        const { rows } = await client.query(
          'SELECT (pg_database_size($1) + pg_database_size($2))::float AS bytes',
          Object.values(temporal.databases),
        );
        return (rows[0] as { bytes: number }).bytes;
      });
    const before = await bytes();
    const load = await startLoad(100, { words: 5, everyMs: 1 });
    await load.verify();
    const grown = (await bytes()) - before;
    console.log(
      `      Temporal's databases: ${(before / 2 ** 20).toFixed(1)} MiB before; ${(grown / 100 / 1024).toFixed(1)} KiB for each of 100 turns with a tool`,
    );
  });

  it('the service on plain machines has a backup that can be read, and the time of its end for the alert', async () => {
    const metrics = join(dir, 'metrics');
    mkdirSync(metrics);
    const databases = Object.values(temporal.databases).map((name) => {
      const url = new URL(primary.adminUrl);
      url.pathname = `/${name}`;
      return url.href;
    });
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      DATABASE_URL: primary.url,
      TEMPORAL_DATABASES: databases.join(' '),
      TEXTFILE_DIR: metrics,
    };
    // A folder with client programs that are not older than the server, as in `npm run check -- restore`.
    if (process.env.PG_BIN) env.PATH = `${process.env.PG_BIN}:${env.PATH}`;
    try {
      const out = execFileSync('sh', [`${PLAIN}backup.sh`, join(dir, 'backups')], {
        env,
        encoding: 'utf8',
        stdio: 'pipe',
      });
      console.log(`      backup: ${out.split('\t')[0]}`);
    } catch (error) {
      // pg_dump of this machine may be older than the server.
      expect((error as { stderr: string }).stderr).to.match(/server version mismatch/);
      console.log('      backup: not tried, pg_dump of this machine is older than the server');
      return;
    }
    expect(readFileSync(join(metrics, 'agent_session_backup.prom'), 'utf8')).to.match(
      /^agent_session_backup_end_seconds \d{10}$/m,
    );
  });

  it('the service on plain machines is away for at most five seconds when Postgres fails over, and loses nothing', async () => {
    const probed = await underLoad('failover', async () => {
      await sleep(2_000);
      await primary.kill();
      await standby.promote();
      await withClient(standby.adminUrl, async (client) => {
        await client.query('ALTER SYSTEM RESET synchronous_standby_names');
        await client.query('SELECT pg_reload_conf()');
      });
      await sleep(10_000);
    });
    expect(probed.longestAwayMs, probed.reasons.join()).to.be.below(MAX_FAILOVER_MS);
  });
});
