import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transaction } from '../../src/db/transaction.js';
import type { Config } from '../../src/platform/config.js';
import { openStreams } from '../../src/platform/metrics.js';
import { eventually } from './eventually.js';
import type { RunningService, ServiceOptions } from './service.js';
import { temporalAddress } from './temporal.js';

/** Tables that the running service goes on with. */
const KEPT = ['migrations', 'installation', 'leases', 'workers'];

/** Settings that the service reads each time it needs them, so that each borrower can have its own. */
const LENT_SETTINGS = [
  'actionTimeoutSeconds',
  'elicitationTimeoutSeconds',
  'fallbackAfterSeconds',
  'modelIdleSeconds',
  'modelRetrySeconds',
  'taskTimeoutSeconds',
  'toolTimeoutSeconds',
] as const satisfies (keyof Config)[];

const isLent = (setting: string): boolean => (LENT_SETTINGS as readonly string[]).includes(setting);

/** What the service allows is what the test allows that has borrowed it; tests add hosts while it runs. */
class BorrowersHosts extends Array<string> {
  current: readonly string[] = [];

  override includes(host: string): boolean {
    return this.current.includes(host);
  }
}

const started: { close(): Promise<void> }[] = [];

/**
 * A service that is started once in each process of the test run, at its first use, and lent to one test after the other. Each
 * borrower finds an empty database and an empty storage.
 */
export class SharedService<Service extends RunningService> {
  readonly #start: (config: Partial<Config>) => Promise<Service>;
  readonly #hosts = new BorrowersHosts();
  #service: Service | null = null;
  #isLent = false;

  constructor(start: (config: Partial<Config>) => Promise<Service>) {
    this.#start = start;
    started.push(this);
  }

  /** Lends the service until its `close`; null if another test has it, or if these options need a service of their own. */
  async borrow(
    options: ServiceOptions,
    tidyUp = async (_: Service): Promise<void> => undefined,
  ): Promise<Service | null> {
    const { config = {}, ...others } = options;
    const { mcpAllowedHosts = [], ...settings } = config;
    if (this.#isLent || Object.keys(others).length > 0 || !Object.keys(settings).every(isLent)) return null;
    this.#isLent = true;
    this.#hosts.current = mcpAllowedHosts;
    process.env.TEMPORAL_ADDRESS = await temporalAddress();
    const service = (this.#service ??= await this.#start({ mcpAllowedHosts: this.#hosts }));
    const own = { ...service.config };
    Object.assign(service.config, settings);
    return {
      ...service,
      close: async () => {
        try {
          await service.closeOthers();
          await tidyUp(service);
          await empty(service);
          Object.assign(service.config, own);
          await eventually('every stream of the test has ended', areStreamsClosed);
        } catch (error) {
          await this.close();
          throw error;
        }
        this.#isLent = false;
      },
    };
  }

  /** Ends the service; the next borrower gets a new one. */
  async close(): Promise<void> {
    const service = this.#service;
    this.#service = null;
    this.#isLent = false;
    await service?.close();
  }
}

/** Ends what this process shares. A process of a parallel run is ended with them instead. */
export async function closeSharedServices(): Promise<void> {
  await Promise.all(started.map((each) => each.close()));
}

async function areStreamsClosed(): Promise<boolean> {
  const { values } = await openStreams.get();
  return values.every(({ value }) => value === 0);
}

async function empty({ db, config }: RunningService): Promise<void> {
  const tables = await db.query<{ name: string }[]>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL($1)`,
    [KEPT],
  );
  const deletes = tables.map(({ name }) => `DELETE FROM ${name};`).join(' ');
  // Without foreign keys and triggers, in any order: a statement of the service that still runs may cause a deadlock.
  await transaction(db, (tx) => tx.query(`SET LOCAL session_replication_role = replica; ${deletes}`));
  for (const folder of ['files', 'skills', 'workspaces'])
    await rm(join(fileURLToPath(config.storageUrl), folder), { recursive: true, force: true });
}
