import { expect } from 'chai';
import type { Client } from '@temporalio/client';
import type { Suite } from 'mocha';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import { startFaultSystem, type FaultSystem, type FaultSystemOptions } from './fault-system.js';
import { startMcpServer, type McpServerOptions, type TestMcpServer, type TestTool } from './mcp-server.js';
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.js';
import { startOauthPair, type OauthPair } from './oauth-server.js';
import { startOauthCalls, type OauthCalls } from './oauth-calls.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { startService, type ServiceOptions, type TestService } from './service.js';
import { temporalAddress } from './temporal.js';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.js';
import { connectClient } from './workflow-history.js';
import { startTurnService, type TurnService, type TurnServiceOptions } from './turns.js';

const closers = new WeakMap<Suite, (() => unknown)[]>();

/**
 * Starts something before the tests of a suite. It is closed after the suite's own `after` hooks; what was started last is
 * closed first. The returned object stands for it in tests and hooks.
 */
export function use<T extends object>(start: () => Promise<T>, close: (started: T) => unknown): T {
  let started: T | undefined;
  before(async function () {
    started = await start();
    closeAfter(this.test!.parent!, () => close(started!));
  });
  return new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(started!, name);
      return typeof value === 'function' ? (value.bind(started) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(started!, name, value),
  });
}

function closeAfter(suite: Suite, close: () => unknown): void {
  const ofSuite = closers.get(suite);
  if (ofSuite !== undefined) return void ofSuite.unshift(close);
  const all = [close];
  closers.set(suite, all);
  suite.afterAll(async () => {
    for (const each of all) await each();
  });
}

/** What is pushed here is closed after the test, in this order. */
export function useClosers(): (() => unknown)[] {
  const all: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of all.splice(0)) await close();
  });
  return all;
}

/** `options` may be a function, for what is known only when the suite runs. */
export function useService(options: ServiceOptions | (() => ServiceOptions) = {}): TestService {
  return use(
    () => startService(typeof options === 'function' ? options() : options),
    (service) => service.close(),
  );
}

/** `options` may be a function, for what is known only when the suite runs. */
export function useTurnService(options: TurnServiceOptions | (() => TurnServiceOptions) = {}): TurnService {
  return use(
    () => startTurnService(typeof options === 'function' ? options() : options),
    (service) => service.close(),
  );
}

/** After each test: the scripted model has accepted every request. Then it loses its script. */
export function expectAcceptedRequests(service: Pick<TurnService, 'model'>): void {
  afterEach(() => {
    expect(service.model.refused.map(({ refused }) => refused)).to.deep.equal([]);
    service.model.reset();
  });
}

/** `options` may be a function, for what is known only when the suite runs. */
export function useFaultSystem(options: FaultSystemOptions | (() => FaultSystemOptions) = {}): FaultSystem {
  return use(
    () => startFaultSystem(typeof options === 'function' ? options() : options),
    (system) => system.close(),
  );
}

export function useMcpServer(options: McpServerOptions = {}): TestMcpServer {
  return use(
    () => startMcpServer(options),
    (server) => server.close(),
  );
}

export function useScriptedModel(): ScriptedModel {
  return use(startScriptedModel, (model) => model.close());
}

export function useOauthPair(tools: TestTool[]): OauthPair {
  return use(
    () => startOauthPair(tools),
    (pair) => pair.close(),
  );
}

export function useOauthCalls(): OauthCalls {
  return use(startOauthCalls, (calls) => calls.close());
}

export function useWebhookReceiver(): WebhookReceiver {
  return use(startWebhookReceiver, (receiver) => receiver.close());
}

export function useFaultyProxy(url: () => string): FaultyProxy {
  return use(
    () => startFaultyProxy(url()),
    (proxy) => proxy.close(),
  );
}

/** A service whose turns run, and an MCP server that is registered with it under this name. */
export function useRegisteredMcp(
  name: string,
  mcpOptions: McpServerOptions,
  options: TurnServiceOptions = {},
): { mcp: TestMcpServer; service: TurnService; registered: { id: string } } {
  const mcp = useMcpServer(mcpOptions);
  const service = useTurnService(() => ({
    ...options,
    config: { mcpAllowedHosts: [mcp.host], ...options.config },
  }));
  const registered = { id: '' };
  before(async () => {
    const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: mcp.url });
    expect(status, JSON.stringify(body)).to.equal(201);
    registered.id = body.id as string;
  });
  return { mcp, service, registered };
}

/** A client of the run's Temporal server. */
export function useTemporalClient(): Client {
  return use(
    async () => (await connectClient(await temporalAddress())).client,
    (client) => client.connection.close(),
  );
}

/** A migrated database of the suite's own. */
export function useDatabase(): TestDatabase {
  return use(createTestDatabase, (database) => database.drop());
}

/** `name`: as Postgres shows its connections. */
export function usePool(database: TestDatabase, connections: number, name = 'test'): Database {
  return use(
    () => openDataSource(database.url, connections, name),
    (db) => db.destroy(),
  );
}
