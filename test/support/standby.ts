import { appendFileSync, mkdirSync, statSync, writeFileSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../dev/embedded-postgres.js';
import { copyCluster } from './backup.js';
import { testPostgres, type TestPostgres } from './postgres.js';
import { eventually } from './eventually.js';
import { makeStateDir } from './state-dir.js';

/** A server that replicates another one, synchronously, until it is promoted. */
export interface Standby extends TestPostgres {
  /** Takes writes from then on. */
  promote(): Promise<void>;
}

/** How soon a standby connects again to a primary that was away; the default of 5 s would hold up every commit so long. */
const RECONNECT_MS = 500;
const MAX_CATCH_UP_MS = 180_000;

/** Starts a standby of `primary`, whose commits wait for it from then on. */
export async function startStandby(primary: Pick<TestPostgres, 'adminUrl'>): Promise<Standby> {
  const dataDir = makeStateDir();
  const cluster = join(dataDir, 'postgres', 'cluster');
  mkdirSync(join(dataDir, 'postgres'));
  await copyCluster(primary.adminUrl, cluster);
  const { port, password } = new URL(primary.adminUrl);
  const signal = join(cluster, 'standby.signal');
  writeFileSync(signal, '');
  const { uid, gid } = statSync(cluster);
  chownSync(signal, uid, gid);
  const conninfo = `host=127.0.0.1 port=${port} user=postgres password=${password}`;
  const settings = `primary_conninfo = '${conninfo}'\nwal_retrieve_retry_interval = ${RECONNECT_MS}\n`;
  appendFileSync(join(cluster, 'postgresql.auto.conf'), settings);
  writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify({ port: 0, password }));
  const started = await startPostgres({ dataDir });
  await query(primary.adminUrl, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await query(primary.adminUrl, 'SELECT pg_reload_conf()');
  await untilInSync(primary);
  return Object.assign(testPostgres(started, dataDir), {
    promote: async () => {
      await query(started.adminUrl, 'SELECT pg_promote(wait => true)');
    },
  });
}

/** Waits until the standby has everything that the primary has: a failover loses nothing from here on. */
export async function untilInSync(primary: Pick<TestPostgres, 'adminUrl'>): Promise<void> {
  const inSync = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`;
  await eventually('the standby replicates', async () => (await query(primary.adminUrl, inSync)) > 0, MAX_CATCH_UP_MS);
}

/** Commits of a server wait for no standby any more, as after a restore: the setting came with the files of its primary. */
export async function forgetStandby({ adminUrl }: Pick<TestPostgres, 'adminUrl'>): Promise<void> {
  await query(adminUrl, 'ALTER SYSTEM RESET synchronous_standby_names');
  await query(adminUrl, 'SELECT pg_reload_conf()');
}

async function query(url: string, sql: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}
