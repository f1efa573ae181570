import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection, type TLSConfig } from '@temporalio/client';
import { freePort } from '../../src/platform/free-port.js';
import { run, step } from '#dev/progress.mjs';
import { cacheDir } from '#temporal-dev/temporal-cli.mjs';
import { EmbeddedServer } from '../../dev/server-process.js';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import { makeStateDir } from './state-dir.js';

const VERSION = '1.29.1';
const NAMESPACE = 'default';
/** As many as the recipe has. */
const SHARDS = 512;
const KEYWORD = 2;

/** deploy/plain/temporal, the recipe of docs/operations/temporal.md. */
const RECIPE = fileURLToPath(new URL('../../deploy/plain/temporal/', import.meta.url));

/** What docs/operations/temporal.md recommends for a server of your own, without what only many projects need. */
export const RECOMMENDED = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxPollRPS': 2000,
  'history.visibilityProcessorMaxPollRPS': 2000,
  'system.enableActivityEagerExecution': true,
};

/** A Temporal server as one runs it in production: the recipe of deploy/plain/temporal, four services on Postgres. */
export interface TemporalCluster {
  address: string;
  pid: number;
  /** Names of its two databases. */
  databases: { default: string; visibility: string };
  stop(): Promise<void>;
}

export interface TemporalClusterOptions {
  /** Instead of the recipe's own. */
  dynamicConfig?: Record<string, number | boolean>;
  shards?: number;
  /** Where the server finds Postgres, if not where its databases are made: a proxy that leads to the primary. */
  through?: { host: string; port: number };
  /** A folder with ca.pem, server.pem, server.key for the server and client.pem, client.key for who asks. */
  tlsDir?: string;
}

/**
 * Starts a cluster on databases of its own in the Postgres at `adminUrl`. Its binaries are built with Go once per machine
 * and user, which takes some minutes.
 */
export async function startTemporalCluster(
  adminUrl: string,
  { dynamicConfig, shards = SHARDS, through, tlsDir }: TemporalClusterOptions = {},
): Promise<TemporalCluster> {
  const folder = await binaries();
  const dir = makeStateDir();
  const { hostname, port, username, password } = new URL(adminUrl);
  const databases = { default: `temporal_${Date.now()}`, visibility: `temporal_visibility_${Date.now()}` };
  const names = { TEMPORAL_DB: databases.default, TEMPORAL_VISIBILITY_DB: databases.visibility };
  const ofPostgres = { SQL_HOST: hostname, SQL_PORT: port, SQL_USER: username, SQL_PASSWORD: password };
  const env = { ...process.env, ...names, ...ofPostgres, TEMPORAL_SQL_TOOL: join(folder, 'sql') };
  await run('sh', [join(RECIPE, 'schema.sh')], { env });
  // As before each upgrade of the server: a second run finds nothing to do.
  await run('sh', [join(RECIPE, 'schema.sh')], { env });
  for (const file of ['config.yaml', 'dynamic.yaml']) copyFileSync(join(RECIPE, file), join(dir, file));
  if (dynamicConfig !== undefined) {
    const values = Object.entries(dynamicConfig).map(([key, value]) => [key, [{ value }]]);
    // JSON is YAML.
    writeFileSync(join(dir, 'dynamic.yaml'), JSON.stringify(Object.fromEntries(values)));
  }
  const ports: Record<string, string> = { TEMPORAL_METRICS_PORT: String(await freePort()) };
  for (const service of ['FRONTEND', 'HISTORY', 'MATCHING', 'WORKER']) {
    ports[`TEMPORAL_${service}_PORT`] = String(await freePort());
    ports[`TEMPORAL_${service}_MEMBERSHIP_PORT`] = String(await freePort());
  }
  const address = `127.0.0.1:${ports.TEMPORAL_FRONTEND_PORT}`;
  const { host, port: databasePort } = through ?? { host: hostname, port };
  const server = await EmbeddedServer.start(
    'The Temporal cluster',
    {
      command: join(folder, 'server'),
      args: ['--root', dir, '--config', '.', '--env', 'config', '--allow-no-auth', 'start'],
      dataDir: dir,
      name: 'temporal',
      stopSignal: 'SIGTERM',
      env: {
        ...{ ...process.env, ...names, ...ports, TEMPORAL_SHARDS: String(shards) },
        TEMPORAL_DB_ADDRESS: `${host}:${databasePort}`,
        TEMPORAL_DB_USER: username,
        TEMPORAL_DB_PASSWORD: password,
        TEMPORAL_DYNAMIC_CONFIG: join(dir, 'dynamic.yaml'),
        ...(tlsDir !== undefined && { TEMPORAL_TLS_DIR: tlsDir }),
      },
    },
    () => isReady(address, tlsDir),
  );
  return {
    address,
    pid: server.pid,
    databases,
    async stop() {
      await server.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The certificate of a client, for a server with TLS. */
export function clientTls(tlsDir: string): TLSConfig {
  const read = (name: string): Buffer => readFileSync(join(tlsDir, name));
  return {
    serverNameOverride: 'temporal',
    serverRootCACertificate: read('ca.pem'),
    clientCertPair: { crt: read('client.pem'), key: read('client.key') },
  };
}

/** Ready: the namespace exists and has the search attributes of turns. */
async function isReady(address: string, tlsDir?: string): Promise<boolean> {
  const tls = tlsDir === undefined ? undefined : clientTls(tlsDir);
  const connection = await Connection.connect({ address, connectTimeout: 1_000, ...(tls && { tls }) }).catch(
    () => null,
  );
  if (connection === null) return false;
  const { workflowService, operatorService } = connection;
  try {
    return await connection.withDeadline(Date.now() + 5_000, async () => {
      const names = Object.values(SEARCH_ATTRIBUTES);
      const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
      await workflowService
        .registerNamespace({ namespace: NAMESPACE, workflowExecutionRetentionPeriod })
        .catch(() => undefined);
      const searchAttributes = Object.fromEntries(names.map((name) => [name, KEYWORD]));
      await operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes }).catch(() => undefined);
      const { customAttributes } = await operatorService.listSearchAttributes({ namespace: NAMESPACE });
      return names.every((name) => name in customAttributes);
    });
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

/** The folder with `server` and `sql`. */
async function binaries(): Promise<string> {
  const folder = join(cacheDir(), `temporal-server-${VERSION}`);
  if (existsSync(join(folder, 'server')) && existsSync(join(folder, 'sql'))) return folder;
  const module = `go.temporal.io/server/cmd`;
  const env = { ...process.env, GOBIN: folder, GOWORK: 'off' };
  await step(`building Temporal ${VERSION}`, () =>
    run('go', ['install', '-ldflags', '-s -w', `${module}/server@v${VERSION}`, `${module}/tools/sql@v${VERSION}`], {
      env,
    }),
  );
  return folder;
}
