import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../src/platform/config.js';
import { misspeltSettings } from '../src/platform/misspelt-settings.js';
import { collectWhenIdle } from '../src/platform/idle-collector.js';
import { runIfEntry } from '../src/platform/is-entry.js';
import { createLogger, type Logger } from '../src/platform/logger.js';
import { observePool } from '../src/db/database-metrics.js';
import { loadSettings } from '../src/models/settings.js';
import { startStatusServer } from '../src/platform/status-server.js';
import { traceTemporal } from '../src/temporal/tracing.js';
import { stopTracing } from '../src/platform/tracing.js';
import '../src/webhooks/metrics.js';
import { createApp } from './app.js';
import { openDeps } from './deps.js';
import type { SharedWorker } from './turn-services.js';
import { createDrain } from './http/core/drain.js';
import { createHttpServer, listen } from './http/core/server.js';

export interface Api {
  url: string;
  /**
   * Takes requests for another SHUTDOWN_DELAY_SECONDS while `/readyz` says 503. Then stops listening, ends streams, waits for open
   * requests (at most SHUTDOWN_GRACE_SECONDS) and closes all resources.
   */
  close(): Promise<void>;
}

/**
 * Starts the API in this process: config → deps → app → listen. `shared` is a worker in this
 * process, on whose Temporal connection turns start eagerly.
 */
export async function startApi(settings: Config, log: Logger, shared?: SharedWorker): Promise<Api> {
  const config = { ...settings };
  await traceTemporal(process.env);
  const opened = await openDeps(config, log, shared);
  const { deps } = opened;
  const stopObserving = observePool(deps.db);
  const drain = createDrain(createApp(deps).callback());
  const server = createHttpServer(drain.listener);
  server.on('connection', drain.onConnection);
  const address = await listen(server, config.host, config.port).catch(async (error: unknown) => {
    stopObserving();
    await opened.close();
    throw error;
  });
  const status =
    config.metricsPort === null
      ? null
      : await startStatusServer({ host: config.host, port: config.metricsPort }, deps.readiness);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  const url = `http://${host}:${address.port}`;
  // With port 0, the public address is known only now.
  if (config.publicUrl.endsWith(':0')) config.publicUrl = url;
  log.info({ url }, 'the API listens');

  const shutDown = async (): Promise<void> => {
    deps.readiness.drain();
    drain.begin();
    await sleep(config.shutdownDelaySeconds * 1000);
    deps.streams.close();
    await drain.close(server, config.shutdownGraceSeconds * 1000);
    stopObserving();
    await Promise.all([opened.close(), status?.close()]);
    await stopTracing();
    log.info('the API has stopped');
  };
  let shuttingDown: Promise<void> | undefined;
  return { url, close: () => (shuttingDown ??= shutDown()) };
}

/** `npm run api`: runs until SIGTERM or SIGINT, then drains. */
async function main(): Promise<void> {
  const config = await loadSettings(process.env);
  const log = createLogger(config.logLevel, 'api');
  for (const sentence of misspeltSettings(process.env)) log.warn(sentence);
  collectWhenIdle();
  let api: Api | null = null;
  const end = async (): Promise<void> => {
    // During startup there is nothing to drain. Without this handler, the first process of a container would ignore the
    // signal.
    const error: unknown = await api?.close().catch((err: unknown) => err);
    if (error !== undefined) log.error({ err: error }, 'the API failed to shut down cleanly');
    process.exit(error === undefined ? 0 : 1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
  api = await startApi(config, log);
}

runIfEntry(import.meta.url, main);
