import { rmSync } from 'node:fs';
import { startTemporal } from '../../temporal-dev/temporal-server.js';
import { makeStateDir } from './state-dir.js';

/** Address of the run's Temporal server; tests share it, each with task queues of its own. */
export async function temporalAddress(): Promise<string> {
  const address = process.env.TEST_TEMPORAL_ADDRESS;
  if (address === undefined)
    throw new Error('TEST_TEMPORAL_ADDRESS is not set: mocha runs test/support/services.ts first');
  return address;
}

/** A Temporal server that a test may kill and start again. */
export interface TestTemporal {
  address: string;
  readonly pid: number;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
  /** On the same port; workflows are there again when it is persistent. */
  restart(): Promise<void>;
  /** Ends it and removes its state. */
  stop(): Promise<void>;
}

/** Starts a Temporal server apart from the run's own; `persistent` (the default) keeps workflows over a restart. */
export async function startTemporalServer({
  persistent = true,
  dynamicConfig = {},
}: {
  persistent?: boolean;
  dynamicConfig?: Record<string, number | boolean>;
} = {}): Promise<TestTemporal> {
  const dataDir = makeStateDir();
  const { server, address } = await startTemporal({ dataDir, persistent, ui: false, dynamicConfig });
  return {
    address,
    get pid() {
      return server.pid;
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: async () => {
      await server.kill();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
