import { startWorker } from '../activities/main.js';
import { startApi } from '../api/main.js';
import type { Config } from '../src/config.js';

export interface Service {
  /** Rejects when the worker ends by itself. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * API and worker in one process on one connection: a turn then starts eagerly, which is 1.4 × the turns a second of
 * two processes (temporal.md). They end in this order: the API stops accepting, then the worker drains.
 */
export async function startService(config: Config): Promise<Service> {
  const worker = await startWorker(config);
  const api = await startApi(config, worker.connection);
  return {
    failed: worker.failed,
    // Each may take the whole grace, one after the other would be longer than the 10 s that an end may take.
    close: async () => void (await Promise.all([api.close(), worker.close()])),
  };
}
