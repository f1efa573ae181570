import type { Database } from '../../src/db/db.js';
import { startApi, type Api } from '../../api/main.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import type { Config } from '../../src/platform/config.js';
import { createKey, type NewKey } from '../../src/projects/api-keys.js';
import { SCOPES } from '../../src/projects/permissions.js';
import { apiClient, type ApiCall } from './client.js';
import { TEST_MODEL, testConfig } from './config.js';
import { testLogger } from './log.js';
import { checkAgainstOpenApi } from './openapi-check.js';
import { createTestDatabase } from './postgres.js';
import { SharedService } from './shared-service.js';
import { temporalAddress } from './temporal.js';

export interface ServiceOptions {
  /** Why the test needs a service of its own, where no other option shows it. */
  own?: string;
  /** Settings beyond the tests' own (rate limits are off unless given). */
  config?: Partial<Config>;
  models?: ModelEntry[];
  /** A migrated database that the test looks after; absent: a new one. */
  databaseUrl?: string;
  /** A Temporal server that the test looks after; absent: the run's. */
  temporalAddress?: string;
}

/** An API in this process, on a database of its own. */
export interface RunningService {
  url: string;
  config: Config;
  /** For what cannot be seen or brought about through the API. */
  db: Database;
  /** A second process' worth of API on the same database. */
  anotherApi(): Promise<Api>;
  /** Closes those that `anotherApi` has started. */
  closeOthers(): Promise<void>;
  close(): Promise<void>;
}

/** A running service with keys for it. */
export interface TestService extends Omit<RunningService, 'closeOthers'> {
  /** A key with every permission, of project `demo`; `api` uses it. */
  key: string;
  api: ApiCall;
  newKey(options?: Partial<NewKey>): Promise<string>;
  /** A client with another key, or with none. */
  as(key: string | null): ApiCall;
}

const shared = new SharedService((config) => runService({ config }));

/**
 * The API in this process, on a free port and an empty database. Tests share one, one after the other: with options, or while
 * another test has it, a new one is started.
 */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  return withKeys((await shared.borrow(options)) ?? (await runService(options)));
}

export async function withKeys<Service extends RunningService>(service: Service): Promise<Service & TestService> {
  const newKey = async (wanted: Partial<NewKey> = {}): Promise<string> =>
    (await createKey(service.db, { project: 'demo', scopes: SCOPES, ...wanted })).key;
  const key = await newKey();
  const as = (other: string | null): ApiCall => apiClient(service.url, other, checkAgainstOpenApi);
  return { ...service, key, api: as(key), newKey, as };
}

export async function runService(options: ServiceOptions): Promise<RunningService> {
  const { databaseUrl } = options;
  const database = databaseUrl === undefined ? await createTestDatabase() : { url: databaseUrl, drop: async () => {} };
  const { config, remove } = testConfig(database.url, options.models ?? [TEST_MODEL], options.config ?? {});
  // The SDK's own environment configuration names the Temporal server (decisions.md "Running it").
  process.env.TEMPORAL_ADDRESS = options.temporalAddress ?? (await temporalAddress());
  const log = testLogger();
  const db = await openDataSource(database.url, 4, 'test');
  const api = await startApi(config, log);
  let others: Api[] = [];
  const closeOthers = async (): Promise<void> => {
    const opened = others;
    others = [];
    await Promise.all(opened.map((each) => each.close()));
  };
  return {
    url: api.url,
    config,
    db,
    async anotherApi() {
      const other = await startApi(config, log);
      others.push(other);
      return other;
    },
    closeOthers,
    async close() {
      await Promise.all([api.close(), closeOthers()]);
      await db.destroy();
      await database.drop();
      remove();
    },
  };
}
