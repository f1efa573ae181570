import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, TLSConfig } from '@temporalio/client';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/entry.js';
import { createKey } from '../../src/projects/api-keys.js';
import { SCOPES } from '../../src/projects/permissions.js';
import { faultCalls, type FaultCalls } from './fault-calls.js';
import { createKeyOf, runCommandOf } from './earlier-build.js';
import type { Turn } from './fault-client.js';
import { startMcpServer, type TestMcpServer } from './mcp-server.js';
import { createEmptyDatabase, createTestDatabase, startPostgres, type TestPostgres } from './postgres.js';
import { startRole, type Role, type RoleProcess } from './role-process.js';
import { removeWritable } from './sandbox.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { startTemporalServer, temporalAddress, type TestTemporal } from './temporal.js';
import { connectClient } from './workflow-history.js';
import { TEST_MODEL } from './config.js';

export type { Turn };

export interface FaultSystemOptions {
  apis?: number;
  workers?: number;
  /** Processes that are both, as `npm start` runs them: each stands among the APIs and among the workers. */
  services?: number;
  /** A Postgres and a Temporal server of its own, to be killed; else the run's. */
  ownPostgres?: boolean;
  ownTemporal?: boolean | { persistent: boolean };
  /** A proxy between the processes and Postgres, and one between them and Temporal. */
  proxies?: boolean;
  /** The test's own queries go through the proxy too: for a database that moves. */
  queriesThroughProxy?: boolean;
  env?: Record<string, string>;
  /** Of the scripted model, as in MODELS_FILE. */
  price?: object;
  /** Further entries of MODELS_FILE: fields in which they differ from the scripted model's. */
  moreModels?: (Partial<ModelEntry> & Pick<ModelEntry, 'id'>)[];
  /** Servers that run already, in place of those of the run: a migrated database, and Temporal. */
  servers?: { databaseUrl: string; temporalAddress: string; tls?: TLSConfig };
  /** The checkout of an earlier build: its migrations make the database, and its processes run until `build` of one changes. */
  earlier?: string;
  /** `host:port` pairs beside the MCP server's for MCP_ALLOWED_HOSTS. */
  allowedHosts?: string[];
}

/** Two processes of each role, and servers that can be killed too. */
export const ALL_KILLABLE = { apis: 2, workers: 2, ownPostgres: true, ownTemporal: { persistent: true } };

/** The service as processes of their own. */
export interface FaultSystem extends FaultCalls {
  apis: RoleProcess[];
  workers: RoleProcess[];
  /** A test that has another server take over puts it here: `close` stops what is here then. */
  postgres: TestPostgres | null;
  temporal: TestTemporal | null;
  proxies: { postgres: TcpProxy; temporal: TcpProxy } | null;
  model: ScriptedModel;
  mcp: TestMcpServer;
  /** Straight to the database and to Temporal, past the proxies. */
  db: Database;
  client: Client;
  /** What processes get as their environment. */
  env: Record<string, string>;
  addRole(role: Role, env?: Record<string, string>): Promise<RoleProcess>;
  /**
   * A worker that `proxy` can cut off from the run's Temporal server. A worker that is frozen with its connections alive would still be
   * given tasks, for as long as its polls last (a minute).
   */
  addProxiedWorker(env?: Record<string, string>): Promise<{ worker: RoleProcess; proxy: TcpProxy }>;
  /** Registers the MCP server; returns its id. */
  registerMcp(name: string, body?: Record<string, unknown>): Promise<string>;
  /** The worker of that identity, which begins with its process id. */
  workerOf(identity: string): RoleProcess;
  /** `kill -9` of every process and of the system's own servers, which then start again. */
  killEverything(): Promise<void>;
  newKey(project: string): Promise<string>;
  close(): Promise<void>;
}

export async function startFaultSystem(options: FaultSystemOptions = {}): Promise<FaultSystem> {
  const { ownTemporal } = options;
  const postgres = options.ownPostgres ? await startPostgres() : null;
  const { earlier } = options;
  const ownDatabase = earlier === undefined ? createTestDatabase : createEmptyDatabase;
  const { servers } = options;
  const given = postgres?.url ?? servers?.databaseUrl;
  const database = given === undefined ? await ownDatabase() : { url: given, drop: async () => undefined };
  if (earlier !== undefined) await runCommandOf(earlier, database.url, 'migrate');
  const temporal = ownTemporal ? await startTemporalServer(ownTemporal === true ? {} : ownTemporal) : null;
  const address = temporal?.address ?? servers?.temporalAddress ?? (await temporalAddress());
  const proxies = options.proxies
    ? {
        postgres: await startTcpProxy(hostOf(database.url)),
        temporal: await startTcpProxy(hostOf(`http://${address}`)),
      }
    : null;
  const [model, mcp] = await Promise.all([startScriptedModel(), startMcpServer()]);
  const proxied = proxies === null ? database.url : through(database.url, proxies.postgres);
  const db = await openDataSource(options.queriesThroughProxy ? proxied : database.url, 4, 'test');
  const temporalClient = await connectClient(address, servers?.tls);
  const dataDir = mkdtempSync(join(tmpdir(), 'faults-'));
  // The users of sandboxes must reach it: then the sandboxes are below it too, and go with it.
  chmodSync(dataDir, 0o711);
  const entry = {
    ...TEST_MODEL,
    ...{ id: 'scripted', display_name: 'Scripted', model: 'scripted-1', base_url: model.url },
    price: options.price,
  };
  const models = [entry, ...(options.moreModels ?? []).map((more) => ({ ...entry, ...more }))];
  writeFileSync(join(dataDir, 'models.json'), JSON.stringify(models));
  const env = {
    DATABASE_URL: proxied,
    TEMPORAL_ADDRESS: proxies === null ? address : `127.0.0.1:${proxies.temporal.port}`,
    TASK_QUEUE: `faults-${randomUUID()}`,
    MODELS_FILE: join(dataDir, 'models.json'),
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: dataDir,
    MCP_ALLOWED_HOSTS: [mcp.host, ...(options.allowedHosts ?? [])].join(','),
    RATE_LIMIT_PER_MINUTE: '0',
    SHUTDOWN_GRACE_SECONDS: '1',
    WEBHOOK_DELIVERIES: 'off',
    ...options.env,
  };
  const separate = options.services === undefined ? 1 : 0;
  const apis: RoleProcess[] = [];
  const workers: RoleProcess[] = [];
  const addRole = async (role: Role, more: Record<string, string> = {}): Promise<RoleProcess> => {
    const started = await startRole(role, { ...env, ...more }, earlier);
    if (role !== 'worker') apis.push(started);
    if (role !== 'api') workers.push(started);
    return started;
  };
  const allProcesses = (): RoleProcess[] => [...new Set([...apis, ...workers])];
  await Promise.all([
    ...Array.from({ length: options.apis ?? separate }, () => addRole('api')),
    ...Array.from({ length: options.workers ?? separate }, () => addRole('worker')),
    ...Array.from({ length: options.services ?? 0 }, () => addRole('service')),
  ]);

  const key =
    earlier === undefined
      ? (await createKey(db, { project: 'demo', scopes: SCOPES })).key
      : await createKeyOf(earlier, database.url, '--project', 'demo', '--scopes', 'all');
  const closed = new AbortController();
  const system: FaultSystem = {
    ...faultCalls({ apis, workers, db, key, model: entry.id, closed: closed.signal }),
    apis,
    workers,
    postgres,
    temporal,
    proxies,
    model,
    mcp,
    db,
    client: temporalClient.client,
    env,
    addRole,
    addProxiedWorker: async (more = {}) => {
      const proxy = await startTcpProxy(hostOf(`http://${address}`));
      const worker = await addRole('worker', { TEMPORAL_ADDRESS: `127.0.0.1:${proxy.port}`, ...more });
      return { worker, proxy };
    },
    registerMcp: async (name, body = {}) =>
      (await system.insist('POST', '/v1/mcp-servers', { name, url: mcp.url, ...body })).body.id as string,
    newKey: async (project) => (await createKey(db, { project })).key,
    workerOf: (identity) => workers.find(({ pid }) => identity.startsWith(`${pid}@`))!,

    async killEverything() {
      const processes = allProcesses();
      await Promise.all([...processes.map((each) => each.kill()), temporal?.kill(), system.postgres?.kill()]);
      await Promise.all([temporal?.restart(), system.postgres?.restart()]);
      await Promise.all(processes.map((each) => each.start()));
    },

    async close() {
      closed.abort();
      await Promise.all(allProcesses().map((each) => each.kill()));
      await Promise.all([
        model.close().catch(() => undefined),
        mcp.close(),
        db.isInitialized && db.destroy(),
        temporalClient.close(),
      ]);
      await Promise.all([proxies?.postgres.close(), proxies?.temporal.close()]);
      await Promise.all([system.postgres?.stop() ?? database.drop(), temporal?.stop()]);
      // Killed workers leave the file systems of their trees mounted.
      removeWritable(dataDir);
    },
  };
  return system;
}

function hostOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function through(url: string, proxy: TcpProxy): string {
  const changed = new URL(url);
  changed.port = String(proxy.port);
  return changed.href;
}
