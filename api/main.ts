import type { ConnectionLike } from '@temporalio/client';
import { pathToFileURL } from 'node:url';
import { ConfigError, loadConfig, type Config } from '../src/config.js';
import { createLogger, type Logger } from '../src/log.js';
import { observePool } from '../src/metrics.js';
import { forgetOldAnswers } from '../src/projects/idempotency.js';
import { createApp } from './app.js';
import { openDeps } from './deps.js';
import { createDrain } from './http/drain.js';
import { createHttpServer, listen } from './http/server.js';

const HOUSEKEEPING_MS = 600_000;

/** A running API. */
export interface Api {
  /** Where it listens. */
  url: string;
  /** Stops listening, ends streams, lets requests under way finish within SHUTDOWN_GRACE_SECONDS, closes all it opened. */
  close(): Promise<void>;
}

/**
 * Starts one API process' worth of service: config → deps → app → listen. `shared` is the Temporal connection of a
 * worker in this process; its turns start eagerly.
 */
export async function startApi(settings: Config, log: Logger, shared?: ConnectionLike): Promise<Api> {
  const config = { ...settings };
  const { deps, close } = await openDeps(config, log, shared);
  const stopObserving = observePool(deps.db);
  const drain = createDrain(createApp(deps).callback());
  const server = createHttpServer(drain.listener);
  const address = await listen(server, config.host, config.port);
  const housekeeping = setInterval(() => {
    forgetOldAnswers(deps.db).catch((err: unknown) => log.warn({ err }, 'old idempotency records stay for now'));
  }, HOUSEKEEPING_MS);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  const url = `http://${host}:${address.port}`;
  // Port 0: what clients see is known only now.
  if (config.publicUrl.endsWith(':0')) config.publicUrl = url;
  log.info({ url }, 'the API listens');

  return {
    url,
    async close() {
      clearInterval(housekeeping);
      deps.streams.close();
      await drain.close(server, config.shutdownGraceSeconds * 1000);
      stopObserving();
      await close();
      log.info('the API has stopped');
    },
  };
}

/** `npm run api`: runs until SIGTERM or SIGINT, then drains. */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const api = await startApi(config, createLogger(config.logLevel, 'api'));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void api.close().then(() => process.exit(0)));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main().catch((error: unknown) => {
    const reason = error instanceof ConfigError ? error.message : error;
    process.stderr.write(`${String(reason instanceof Error ? reason.stack : reason)}\n`);
    process.exit(1);
  });
}
