import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../dev/embedded-postgres.js';
import { copyCluster } from './backup.js';
import type { TestPostgres } from './postgres.js';
import { eventually } from './eventually.js';
import { makeStateDir } from './state-dir.js';

/** A server that replicates another one, synchronously, until it is promoted. */
export interface Standby {
  url: string;
  /** Takes writes from then on. */
  promote(): Promise<void>;
  /** Ends it and removes its state. */
  stop(): Promise<void>;
}

/** Starts a standby of `primary`, whose commits wait for it from then on. */
export async function startStandby(primary: TestPostgres): Promise<Standby> {
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
  appendFileSync(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify({ port: 0, password }));
  const { server, url, adminUrl } = await startPostgres({ dataDir });
  await query(primary.adminUrl, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await query(primary.adminUrl, 'SELECT pg_reload_conf()');
  await eventually('the standby replicates', async () => {
    return (await query(primary.adminUrl, `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)) > 0;
  });
  return {
    url,
    promote: async () => {
      await query(adminUrl, 'SELECT pg_promote(wait => true)');
    },
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
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
