import { setTimeout as sleep } from 'node:timers/promises';
import { exitWhenFailed, startWorker } from '../activities/main.js';
import { startApi } from '../api/main.js';
import { loadSettings } from '../src/models/settings.js';
import { collectWhenIdle } from '../src/platform/idle-collector.js';
import { runIfEntry } from '../src/platform/is-entry.js';
import { createLogger } from '../src/platform/logger.js';

/** Limits slow requests (a probe of an MCP server, say) at shutdown, so that API and worker stop within 10 s. */
const API_HEAD_START_MS = 1_000;

/**
 * The process of `npm start` that runs API and worker on one Temporal connection. Then turns start eagerly, which gives 1.4 × the
 * turns per second of two processes. At shutdown the API stops accepting first, then the worker drains.
 */
async function main(): Promise<void> {
  let close = (): Promise<void> => Promise.resolve();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void close().then(() => process.exit(0)));
  }
  // `npm start` is gone, and its servers end too.
  process.once('disconnect', () => process.exit(1));
  collectWhenIdle();
  const config = await loadSettings(process.env);
  const log = createLogger(config.logLevel, 'worker');
  // A process has one METRICS_PORT, and the API serves it.
  const worker = await startWorker({ ...config, metricsPort: null }, log);
  exitWhenFailed(worker, log);
  const api = await startApi(config, createLogger(config.logLevel, 'api'), worker);
  close = async () => {
    const apiClosed = api.close();
    await Promise.race([apiClosed, sleep(API_HEAD_START_MS)]);
    await worker.close();
    await apiClosed;
  };
}

runIfEntry(import.meta.url, main);
