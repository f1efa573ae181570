import type { DataSource } from 'typeorm';
import { startApi, type Api } from '../../api/main.js';
import type { Config } from '../../src/platform/config.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { createKey, type NewKey } from '../../src/projects/api-keys.js';
import { apiClient, type ApiCall } from './client.js';
import { testConfig, TEST_MODEL } from './config.js';
import { testLogger } from './log.js';
import { checkAgainstOpenApi } from './openapi-check.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';
import { temporalAddress } from './temporal.js';

export interface ServiceOptions {
  /** Settings beyond the tests' own (rate limits are off unless given). */
  config?: Partial<Config>;
  models?: ModelEntry[];
  /** A migrated database that the test looks after; absent: a new one. */
  databaseUrl?: string;
  /** A Temporal server that the test looks after; absent: the run's. */
  temporalAddress?: string;
}

/** A running service on a database of its own. */
export interface TestService {
  url: string;
  /** A key with every permission, of project `demo`; `api` uses it. */
  key: string;
  api: ApiCall;
  config: Config;
  /** For what cannot be seen or brought about through the API. */
  db: DataSource;
  newKey(options?: Partial<NewKey>): Promise<string>;
  /** A client with another key, or with none. */
  as(key: string | null): ApiCall;
  /** A second process' worth of API on the same database. */
  anotherApi(): Promise<Api>;
  close(): Promise<void>;
}

/** Starts the API in this process on a free port, on a new database. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const database = options.databaseUrl === undefined ? await createTestDatabase() : borrowed(options.databaseUrl);
  const { config, remove } = testConfig(database.url, options.models ?? [TEST_MODEL], options.config ?? {});
  // The SDK's own environment configuration names the Temporal server (contract.md §5).
  process.env.TEMPORAL_ADDRESS = options.temporalAddress ?? (await temporalAddress());
  const log = testLogger();
  const db = await openDataSource(database.url, 4, 'test');
  const api = await startApi(config, log);
  const others: Api[] = [];
  const newKey = async (wanted: Partial<NewKey> = {}): Promise<string> =>
    (await createKey(db, { project: 'demo', ...wanted })).key;
  const key = await newKey();
  const as = (other: string | null): ApiCall => apiClient(api.url, other, checkAgainstOpenApi);

  return {
    url: api.url,
    key,
    api: as(key),
    config,
    db,
    newKey,
    as,
    async anotherApi() {
      const other = await startApi(config, log);
      others.push(other);
      return other;
    },
    async close() {
      await Promise.all([api, ...others].map((each) => each.close()));
      await db.destroy();
      await database.drop();
      remove();
    },
  };
}

function borrowed(url: string): TestDatabase {
  return { url, drop: async () => undefined };
}
