import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { freePort } from '../../src/platform/free-port.js';
import { run, step } from '#dev/progress.mjs';
import { cacheDir } from '#temporal-dev/temporal-cli.mjs';
import { EmbeddedServer } from '../../dev/server-process.js';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import { makeStateDir } from './state-dir.js';

const VERSION = '1.29.1';
const NAMESPACE = 'default';
const SHARDS = 128;
const KEYWORD = 2;

/** What docs/operations/temporal.md recommends for a server of your own. */
export const RECOMMENDED = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxPollRPS': 2000,
  'history.visibilityProcessorMaxPollRPS': 2000,
  'system.enableActivityEagerExecution': true,
};

/** A Temporal server as one runs it in production: persistence in Postgres, history in 128 shards, four services. */
export interface TemporalCluster {
  address: string;
  pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a cluster on databases of its own in the Postgres at `adminUrl`. Its binaries are built with Go once per machine
 * and user, which takes some minutes.
 */
export async function startTemporalCluster(
  adminUrl: string,
  dynamicConfig: Record<string, number | boolean> = {},
): Promise<TemporalCluster> {
  const folder = await binaries();
  const dir = makeStateDir();
  const { hostname, port, username, password } = new URL(adminUrl);
  const databases = { default: `temporal_${Date.now()}`, visibility: `temporal_visibility_${Date.now()}` };
  for (const [store, name] of Object.entries(databases)) {
    const schema = store === 'default' ? 'temporal' : 'visibility';
    const connection = ['--plugin', 'postgres12', '--ep', hostname, '-p', port, '-u', username, '--pw', password];
    const tool = (...args: string[]) => run(join(folder, 'sql'), [...connection, '--db', name, ...args]);
    await tool('create');
    await tool('setup-schema', '-v', '0.0');
    await tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
  const store = (databaseName: string): object => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${hostname}:${port}`,
      connectProtocol: 'tcp',
      user: username,
      password,
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  });
  const service = async (): Promise<object> => ({
    // The server keeps ports in a smallint: they must be below 32,768.
    rpc: { grpcPort: await freePort(), membershipPort: await freePort(), bindOnLocalHost: true },
  });
  const frontend = await freePort();
  const address = `127.0.0.1:${frontend}`;
  const config = {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: SHARDS,
      datastores: { default: store(databases.default), visibility: store(databases.visibility) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: { rpc: { grpcPort: frontend, membershipPort: await freePort(), bindOnLocalHost: true } },
      matching: await service(),
      history: await service(),
      worker: await service(),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: join(dir, 'dynamic.yaml'), pollInterval: '10s' },
  };
  // JSON is YAML.
  mkdirSync(join(dir, 'config'));
  writeFileSync(join(dir, 'config', 'cluster.yaml'), JSON.stringify(config));
  const values = Object.entries(dynamicConfig).map(([key, value]) => [key, [{ value }]]);
  writeFileSync(join(dir, 'dynamic.yaml'), JSON.stringify(Object.fromEntries(values)));
  const server = await EmbeddedServer.start(
    'The Temporal cluster',
    {
      command: join(folder, 'server'),
      args: ['--root', dir, '--env', 'cluster', '--allow-no-auth', 'start'],
      dataDir: dir,
      name: 'temporal',
      stopSignal: 'SIGTERM',
    },
    () => isReady(address),
  );
  return {
    address,
    pid: server.pid,
    async stop() {
      await server.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Ready: the namespace exists and has the search attributes of turns. */
async function isReady(address: string): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 }).catch(() => null);
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
