import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireLock } from '#dev/lock.mjs';
import { step } from '#dev/progress.mjs';
import { temporalCli } from '#temporal-dev/temporal-cli.mjs';
import { loadSettings } from '../src/models/settings.js';
import { trySandbox } from '../activities/sandbox/open.js';
import { migrate } from '../src/db/migrate.js';
import { misspeltSettings } from '../src/platform/misspelt-settings.js';
import { freePort } from '../src/platform/free-port.js';
import { apiAddress, banner, type BannerFacts } from './banner.js';
import { dataDirLock } from './borrow-database.js';
import { makeDataDir, readKept, writeKept } from './data-dir.js';
import { keepDemoKey } from './demo-key.js';
import { startPostgres } from './embedded-postgres.js';
import { startLocalModel } from './local-model.js';
import { EmbeddedServer, endLeftBehind } from './server-process.js';
import { Interrupted, Shutdown } from './shutdown.js';
import { startTemporal } from '../temporal-dev/temporal-server.js';
import { ignored } from '../src/platform/ignored.js';

const DEFAULT_PORT = 8080;
/**
 * Time limit within the 10 s for the whole shutdown. The worker needs up to 5 s, and 3 s more if an activity ignores its
 * abort. Then the guard ends the remaining servers: Temporal in 1.3 s, Postgres in 0.1 s.
 */
const SHUTDOWN_LIMIT_MS = 8_300;
const RESTARTS_PER_MINUTE = 5;
const ANSWER_TIMEOUT_MS = 1_000;
const SERVICE = fileURLToPath(new URL('./service.js', import.meta.url));

/**
 * Starts the parts that the environment does not configure (Postgres, Temporal, a model, an encryption key), then the API
 * and the worker in a process of their own, which it starts again when it ends. Stops all of them on a signal.
 * @returns the exit code
 */
export async function start(env: NodeJS.ProcessEnv): Promise<number> {
  const shutdown = new Shutdown();
  let exitCode = 0;
  try {
    const { welcome, failed } = await bringUp(env, shutdown);
    console.log(welcome);
    await Promise.race([shutdown.requested, failed]);
  } catch (error) {
    if (!(error instanceof Interrupted)) {
      console.error((error as Error).message);
      exitCode = 1;
    }
  }
  if (shutdown.isRequested) console.log('Stopping …');
  const limit = setTimeout(() => {
    console.error('Not everything stopped in time; the rest is killed.');
    process.exit(1);
  }, SHUTDOWN_LIMIT_MS);
  await shutdown.takeDown((name, error) => {
    console.error(`${name} did not stop cleanly: ${(error as Error).message}`);
    exitCode = 1;
  });
  clearTimeout(limit);
  return exitCode;
}

/** Resolves when everything answers; `failed` rejects when a part cannot be kept running. */
async function bringUp(
  env: NodeJS.ProcessEnv,
  shutdown: Shutdown,
): Promise<{ welcome: string; failed: Promise<never> }> {
  const dataDir = resolve(env.DATA_DIR || '.data');
  makeDataDir(dataDir);
  process.umask(0o077);
  const host = env.HOST || '127.0.0.1';
  await shutdown.bringUp(
    'The lock',
    () => lockDataDir(dataDir),
    async (release) => release(),
  );
  await endLeftBehind(dataDir, 'service');
  const port = await choosePort(env.PORT, host);

  const settings: NodeJS.ProcessEnv = {
    ...env,
    DATA_DIR: dataDir,
    PORT: String(port),
    ENCRYPTION_KEY: env.ENCRYPTION_KEY || keepEncryptionKey(dataDir),
    SHUTDOWN_GRACE_SECONDS: env.SHUTDOWN_GRACE_SECONDS || '5',
    LOG_LEVEL: env.LOG_LEVEL || 'warn',
  };
  const failures: Promise<never>[] = [];
  const supervise = (name: string, server: EmbeddedServer): void => {
    const failure = keepRunning(name, server, shutdown);
    failure.catch(ignored('who waits for the failures has the error'));
    failures.push(failure);
  };

  const embedded: Pick<BannerFacts, 'temporal' | 'postgresPort'> = { temporal: null, postgresPort: null };
  const bringUpPostgres = async (): Promise<void> => {
    const {
      server,
      url,
      port: postgresPort,
    } = await shutdown.bringUp(
      'Postgres',
      () => startPostgres({ dataDir }),
      ({ server }) => server.stop(),
    );
    supervise('Postgres', server);
    settings.DATABASE_URL = url;
    embedded.postgresPort = postgresPort;
  };
  const bringUpTemporal = async (): Promise<void> => {
    const start = (): ReturnType<typeof startTemporal> => startTemporal({ dataDir, persistent: true, ui: true });
    const { address, uiUrl, server } = await shutdown.bringUp('Temporal', start, ({ server }) => server.stop());
    supervise('The Temporal server', server);
    nameTemporal(settings, address, dataDir);
    settings.TEMPORAL_UI_URL = env.TEMPORAL_UI_URL || uiUrl || undefined;
    embedded.temporal = { address, uiUrl, cli: await temporalCli() };
  };
  await Promise.all([
    env.DATABASE_URL ? undefined : step('Starting Postgres', bringUpPostgres),
    env.TEMPORAL_ADDRESS ? undefined : step(`Starting Temporal (${await temporalCli()})`, bringUpTemporal),
  ]);

  const usesLocalModel = !env.ANTHROPIC_API_KEY && !env.MODELS_FILE;
  if (usesLocalModel) {
    const { models } = await shutdown.bringUp(
      'The local model',
      () => startLocalModel(),
      (model) => model.close(),
    );
    settings.MODELS_FILE = writeKept(dataDir, 'models.json', JSON.stringify(models, null, 2));
  }

  const config = await loadSettings(settings);
  const isChosen = Boolean(env.SANDBOX_PROVIDER);
  const isTried = !isChosen || config.sandboxProvider === 'bubblewrap';
  const sandbox = isTried ? await step('Trying a sandbox', () => trySandbox(config)) : null;
  if (!isChosen && sandbox?.problem === null) {
    config.sandboxProvider = 'bubblewrap';
    settings.SANDBOX_PROVIDER = 'bubblewrap';
  }
  for (const sentence of misspeltSettings(env)) console.warn(sentence);
  await step('Bringing the database up to date', () => migrate(config.databaseUrl));
  const demoKey = await keepDemoKey(config.databaseUrl, dataDir);
  const service = await step('Starting the API and the worker', () =>
    shutdown.bringUp(
      'The service',
      () => startService(dataDir, settings, () => answers(`${apiAddress(config)}/healthz`, shutdown)),
      stopService,
    ),
  );
  supervise('The service', service);
  const welcome = await banner({ ...embedded, config, demoKey, usesLocalModel, dataDir, sandbox });
  return { welcome, failed: Promise.race(failures) };
}

/** Starts API and worker. They are a process of their own, because a process whose worker has lost its lease must end. */
function startService(
  dataDir: string,
  settings: NodeJS.ProcessEnv,
  isReady: () => Promise<boolean>,
): Promise<EmbeddedServer> {
  return EmbeddedServer.start(
    'The service',
    {
      command: process.execPath,
      args: [...process.execArgv, SERVICE],
      dataDir,
      name: 'service',
      stopSignal: 'SIGTERM',
      stopTimeoutMs: SHUTDOWN_LIMIT_MS,
      isOurs: true,
      env: settings,
    },
    isReady,
  );
}

/** @throws Interrupted if the shutdown is requested: the service may wait for a Postgres or a Temporal that is away */
async function answers(url: string, shutdown: Shutdown): Promise<boolean> {
  if (shutdown.isRequested) throw new Interrupted();
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })).ok;
  } catch {
    return false;
  }
}

async function stopService(service: EmbeddedServer): Promise<void> {
  await service.stop();
  const how = await service.ended();
  if (how !== 'exit code 0') throw new Error(how);
}

function lockDataDir(dataDir: string): Promise<() => void> {
  return acquireLock(dataDirLock(dataDir), 'start', ({ pid, role }) => {
    // `npm run keys` holds the lock only for a moment, so we wait for it.
    if (role === 'start') {
      throw new Error(
        `The service already runs on ${dataDir} (process ${pid}). Stop that one first, or give this one its own DATA_DIR.`,
      );
    }
  });
}

/** Returns the requested port, or throws if it is taken. Without a request: 8080, or a free port if 8080 is taken. */
async function choosePort(asked: string | undefined, host: string): Promise<number> {
  const wanted = asked ? Number(asked) : DEFAULT_PORT;
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535)
    throw new Error(`PORT must be a number up to 65535, not ${asked}.`);
  const port = await freePort(wanted, { host });
  if (asked && wanted !== 0 && port !== wanted) {
    throw new Error(
      `Port ${wanted} is taken on ${host}. Set PORT to a free one, or leave it unset: then it is ${DEFAULT_PORT}, or a free one if that is taken.`,
    );
  }
  return port;
}

/** Points the SDK's environment configuration to our server and overrides a developer's own profile. The file also serves the CLI. */
function nameTemporal(settings: NodeJS.ProcessEnv, address: string, dataDir: string): void {
  for (const name of Object.keys(settings)) if (name.startsWith('TEMPORAL_')) delete settings[name];
  settings.TEMPORAL_ADDRESS = address;
  const profile = `[profile.default]\naddress = "${address}"\nnamespace = "default"\n`;
  settings.TEMPORAL_CONFIG_FILE = writeKept(dataDir, 'temporal.toml', profile);
}

/**
 * Restarts a server that ended unexpectedly, so that accepted work continues.
 * @throws if it keeps ending
 */
async function keepRunning(name: string, server: EmbeddedServer, shutdown: Shutdown): Promise<never> {
  let restarts: number[] = [];
  for (;;) {
    const how = await server.ended();
    if (shutdown.isRequested) await new Promise<never>(() => undefined);
    restarts = [...restarts.filter((time) => time > Date.now() - 60_000), Date.now()];
    if (restarts.length > RESTARTS_PER_MINUTE) throw new Error(`${name} keeps ending (${how}). See its log.`);
    console.error(`${name} ended unexpectedly (${how}); restarting it.`);
    await server.restart();
  }
}

/** Created once. Stored credentials can be decrypted only with it. */
function keepEncryptionKey(dataDir: string): string {
  const kept = readKept(dataDir, 'encryption-key');
  if (kept !== null) return kept;
  const key = randomBytes(32).toString('base64');
  writeKept(dataDir, 'encryption-key', key);
  return key;
}
