import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/entry.js';
import { createKey } from '../../src/projects/api-keys.js';
import type { ApiResponse } from './client.js';
import { request, RETRY_PAUSE_MS, watchOver, type Turn } from './fault-client.js';
import { startMcpServer, type TestMcpServer } from './mcp-server.js';
import { createTestDatabase, startPostgres, type TestPostgres } from './postgres.js';
import { startRole, type Role, type RoleProcess } from './role-process.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { openSse, type SseReader } from './sse-reader.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { startTemporalServer, temporalAddress, type TestTemporal } from './temporal.js';
import { checkTurns, type Evidence, type StoredEvent, type Watched } from './turn-checker.js';
import { connectClient } from './workflow-history.js';

export type { Turn };

export interface FaultSystemOptions {
  apis?: number;
  workers?: number;
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
  /** `host:port` pairs beside the MCP server's for MCP_ALLOWED_HOSTS. */
  allowedHosts?: string[];
}

/** The service as processes of their own, with a client that does what a good client does when something is away. */
export interface FaultSystem {
  apis: RoleProcess[];
  workers: RoleProcess[];
  postgres: TestPostgres | null;
  temporal: TestTemporal | null;
  proxies: { postgres: TcpProxy; temporal: TcpProxy } | null;
  model: ScriptedModel;
  mcp: TestMcpServer;
  /** The API key that calls use unless told otherwise. */
  key: string;
  /** Straight to the database and to Temporal, past the proxies. */
  db: DataSource;
  client: Client;
  addRole(role: Role, env?: Record<string, string>): Promise<RoleProcess>;
  /** The worker of that identity, which begins with its process id. */
  workerOf(identity: string): RoleProcess;
  /** `kill -9` of every process and of the system's own servers, which then start again. */
  killEverything(): Promise<void>;
  newKey(project: string): Promise<string>;
  /** One request to the API of that number, without a second try. */
  ask(api: number, method: string, path: string, body?: unknown): Promise<ApiResponse>;
  /** Asks any API until one answers with something other than "later". */
  insist(method: string, path: string, body?: unknown, key?: string): Promise<ApiResponse>;
  session(body?: Record<string, unknown>, key?: string): Promise<string>;
  /** Sends a message until it is accepted, once. */
  send(sessionId: string, content: string, key?: string): Promise<Turn>;
  /** Watches a turn to its end, with reconnects to any API. */
  watch(turn: Turn): Promise<Watched>;
  /** One connection to a turn's stream. */
  stream(turn: Turn): Promise<SseReader>;
  history(sessionId: string, key?: string): Promise<StoredEvent[]>;
  /** The terminal event of a turn, when it is there. */
  ended(turn: Turn, timeoutMs?: number): Promise<StoredEvent>;
  /** Waits for the end of every accepted turn and every watcher, and has the checker judge; returns the terminal events. */
  verify(timeoutMs?: number): Promise<StoredEvent[]>;
  close(): Promise<void>;
}

const LATER = new Set([429, 502, 503]);

export async function startFaultSystem(options: FaultSystemOptions = {}): Promise<FaultSystem> {
  const { ownTemporal } = options;
  const postgres = options.ownPostgres ? await startPostgres() : null;
  const database = postgres === null ? await createTestDatabase() : { url: postgres.url, drop: async () => undefined };
  const temporal = ownTemporal ? await startTemporalServer(ownTemporal === true ? {} : ownTemporal) : null;
  const address = temporal?.address ?? (await temporalAddress());
  const proxies = options.proxies
    ? {
        postgres: await startTcpProxy(hostOf(database.url)),
        temporal: await startTcpProxy(hostOf(`http://${address}`)),
      }
    : null;
  const [model, mcp] = await Promise.all([startScriptedModel(), startMcpServer()]);
  const proxied = proxies === null ? database.url : through(database.url, proxies.postgres);
  const db = await openDataSource(options.queriesThroughProxy ? proxied : database.url, 4, 'test');
  const temporalClient = await connectClient(address);
  const dataDir = mkdtempSync(join(tmpdir(), 'faults-'));
  const entry = {
    id: 'scripted',
    display_name: 'Scripted',
    model: 'scripted-1',
    base_url: model.url,
    context_window: 200_000,
    max_output_tokens: 8_000,
    supports_thinking: true,
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
  const apis: RoleProcess[] = [];
  const workers: RoleProcess[] = [];
  const addRole = async (role: Role, more: Record<string, string> = {}): Promise<RoleProcess> => {
    const started = await startRole(role, { ...env, ...more });
    (role === 'api' ? apis : workers).push(started);
    return started;
  };
  await Promise.all([
    ...Array.from({ length: options.apis ?? 1 }, () => addRole('api')),
    ...Array.from({ length: options.workers ?? 1 }, () => addRole('worker')),
  ]);

  const defaultKey = (await createKey(db, { project: 'demo' })).key;
  const keys = new Map<string, string>();
  const accepted: Turn[] = [];
  const watching: Promise<Watched>[] = [];
  const closed = new AbortController();
  let next = 0;

  const system: FaultSystem = {
    apis,
    workers,
    postgres,
    temporal,
    proxies,
    model,
    mcp,
    key: defaultKey,
    db,
    client: temporalClient.client,
    addRole,
    newKey: async (project) => (await createKey(db, { project })).key,
    ask: (api, method, path, body) => request(apis[api]!.url, defaultKey, method, path, body, randomUUID()),

    async insist(method, path, body, key = defaultKey) {
      const idempotencyKey = randomUUID();
      for (;;) {
        if (closed.signal.aborted) throw new Error(`${method} ${path} had no answer before the system was closed`);
        const { url } = apis[next++ % apis.length]!;
        const answer = await request(url, key, method, path, body, idempotencyKey).catch(() => null);
        const again = answer === null || LATER.has(answer.status);
        if (!again && answer.headers.get('x-should-retry') !== 'true') return answer;
        await sleep(RETRY_PAUSE_MS);
      }
    },

    workerOf: (identity) => workers.find(({ pid }) => identity.startsWith(`${pid}@`))!,

    async killEverything() {
      const processes = [...apis, ...workers];
      await Promise.all([...processes.map((each) => each.kill()), temporal?.kill(), postgres?.kill()]);
      await Promise.all([temporal?.restart(), postgres?.restart()]);
      await Promise.all(processes.map((each) => each.start()));
    },

    async session(body = {}, key = defaultKey) {
      const answer = await system.insist(
        'POST',
        '/v1/sessions',
        { model_id: entry.id, thinking_enabled: false, ...body },
        key,
      );
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      keys.set(answer.body.id as string, key);
      return answer.body.id as string;
    },

    async send(sessionId, content, key = keys.get(sessionId)) {
      const answer = await system.insist('POST', `/v1/sessions/${sessionId}/messages`, { content }, key);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      const turn = { sessionId, turnId: answer.body.turn_id as string };
      accepted.push(turn);
      return turn;
    },

    watch(turn) {
      const watched = watchOver(
        () => apis[next++ % apis.length]!.url,
        keys.get(turn.sessionId) ?? defaultKey,
        turn,
        closed.signal,
      );
      watching.push(watched);
      return watched;
    },

    stream: ({ sessionId }) =>
      openSse(`${apis[0]!.url}/v1/sessions/${sessionId}/events/stream`, keys.get(sessionId) ?? defaultKey),

    async history(sessionId, key = keys.get(sessionId)) {
      const events: StoredEvent[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body } = await system.insist(
          'GET',
          `/v1/sessions/${sessionId}/events?limit=100${query}`,
          undefined,
          key,
        );
        events.push(...body.items);
        cursor = body.meta.next_cursor as string | null;
      }
      return events;
    },

    async ended({ sessionId, turnId }, timeoutMs = 120_000) {
      const until = performance.now() + timeoutMs;
      for (;;) {
        const [row] = await db
          .query<{ state: string }[]>('SELECT state FROM turns WHERE id = $1', [turnId])
          .catch(() => []);
        if (row !== undefined && row.state !== 'queued' && row.state !== 'running') {
          return (await system.history(sessionId)).findLast((event) => event.turn_id === turnId);
        }
        if (performance.now() > until) throw new Error(`${turnId} is ${row?.state} after ${timeoutMs} ms\n${logs()}`);
        await sleep(50);
      }
    },

    async verify(timeoutMs = 300_000) {
      const ends = await Promise.all(accepted.map((turn) => system.ended(turn, timeoutMs)));
      const watched = await Promise.all(watching);
      const evidence: Evidence = { accepted, histories: new Map(), statuses: new Map(), watched };
      for (const { sessionId } of accepted) {
        if (evidence.histories.has(sessionId)) continue;
        const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`, undefined, keys.get(sessionId));
        evidence.statuses.set(sessionId, body.status as string);
        evidence.histories.set(sessionId, await system.history(sessionId));
      }
      expect(checkTurns(evidence)).to.deep.equal([]);
      const [{ open }] = await db.query<[{ open: number }]>(
        `SELECT count(*)::integer AS open FROM turns WHERE state IN ('queued', 'running')`,
      );
      expect(open, 'turns left open').to.equal(0);
      return ends;
    },

    async close() {
      closed.abort();
      await Promise.all([...apis, ...workers].map((each) => each.kill()));
      await Promise.all([
        model.close().catch(() => undefined),
        mcp.close(),
        db.isInitialized && db.destroy(),
        temporalClient.close(),
      ]);
      await Promise.all([proxies?.postgres.close(), proxies?.temporal.close()]);
      await Promise.all([postgres?.stop() ?? database.drop(), temporal?.stop()]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  const logs = (): string =>
    [...apis, ...workers].map((each) => `--- ${each.role}\n${each.log().slice(-3000)}`).join('\n');
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
