import { startPostgres, type EmbeddedPostgres } from '../../dev/embedded-postgres.js';
import { startTemporal, type EmbeddedTemporal } from '../../temporal-dev/temporal-server.js';
import { closeSharedServices } from './shared-service.js';
import { makeMemoryStateDir, makeStateDir } from './state-dir.js';

let postgres: EmbeddedPostgres | undefined;
let temporal: EmbeddedTemporal | undefined;

/**
 * Runs once, before mocha makes its workers, which inherit the environment: one Postgres and one Temporal server for
 * the whole run, be it `npm test` or `npx mocha FILE`.
 */
export async function mochaGlobalSetup(): Promise<void> {
  const dataDir = makeStateDir();
  [postgres, temporal] = await Promise.all([
    process.env.TEST_DATABASE_URL ? undefined : startPostgres({ dataDir: makeMemoryStateDir(), durable: false }),
    process.env.TEST_TEMPORAL_ADDRESS ? undefined : startTemporal({ dataDir, persistent: false, ui: false }),
  ]);
  process.env.TEST_STATE_DIR = dataDir;
  process.env.TEST_DATABASE_URL ??= postgres?.adminUrl;
  process.env.TEST_TEMPORAL_ADDRESS ??= temporal?.address;
}

/** Nothing of theirs is worth keeping: Temporal needs no second for saying goodbye. */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([temporal?.server.kill(), postgres?.server.stop()]);
}

export const mochaHooks = {
  /** Runs after each file in a parallel run, whose processes end with what they share; else once, at the end. */
  async afterAll(): Promise<void> {
    if (process.env.MOCHA_WORKER_ID === undefined) await closeSharedServices();
  },
};
