import { createKey, type NewKey } from '../../src/projects/api-keys.js';
import { apiClient, type ApiCall } from './client.js';
import { checkAgainstOpenApi } from './openapi-check.js';
import { runService, type RunningService, type ServiceOptions } from './running-service.js';
import { SharedService } from './shared-service.js';

export type { ServiceOptions };

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
    (await createKey(service.db, { project: 'demo', ...wanted })).key;
  const key = await newKey();
  const as = (other: string | null): ApiCall => apiClient(service.url, other, checkAgainstOpenApi);
  return { ...service, key, api: as(key), newKey, as };
}
