import { setTimeout as sleep } from 'node:timers/promises';
import { startWorker } from '../activities/main.js';
import { startApi } from '../api/main.js';
import type { Config } from '../src/platform/config.js';
import { createLogger } from '../src/platform/logger.js';

/** A request that takes longer (a probe of an MCP server) must not use up the worker's time: both fit in 10 s. */
const API_HEAD_START_MS = 1_000;

export interface Service {
  /** Rejects when the worker ends by itself. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * API and worker in one process on one connection: a turn then starts eagerly, which is 1.4 × the turns a second of
 * two processes. They end in this order: the API stops accepting, then the worker drains.
 */
export async function startService(config: Config): Promise<Service> {
  // One process has one METRICS_PORT: the API serves it.
  const worker = await startWorker({ ...config, metricsPort: null }, createLogger(config.logLevel, 'worker'));
  const api = await startApi(config, createLogger(config.logLevel, 'api'), worker.connection);
  return {
    failed: worker.failed,
    close: async () => {
      const apiClosed = api.close();
      await Promise.race([apiClosed, sleep(API_HEAD_START_MS)]);
      await worker.close();
      await apiClosed;
    },
  };
}
