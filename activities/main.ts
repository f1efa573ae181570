import { NativeConnection } from '@temporalio/worker';
import pRetry from 'p-retry';
import { MemoryShare } from '../src/platform/memory-share.js';
import type { Config } from '../src/platform/config.js';
import { openDataSource, openBackgroundPool } from '../src/db/data-source.js';
import { Listener } from '../src/db/listen.js';
import { openWhenReachable, postgresState, waitForSchema } from '../src/db/schema-version.js';
import { SchemaChecks } from '../src/outputs/schema-checks.js';
import { ConversationCache } from '../src/steps/conversation-cache.js';
import { DeltaStore } from '../src/stream/deltas.js';
import { Notifier } from '../src/stream/notify.js';
import { DELETED_SESSIONS_CHANNEL, sessionsOf } from '../src/sessions/deleted-sessions.js';
import { CREDENTIAL_CHANNEL, droppedOf } from '../src/mcp/user-credentials.js';
import { DELIVERIES_CHANNEL } from '../src/webhooks/record-deliveries.js';
import { ANSWER_CHANNEL, AnswerWatch, findClosedQuestions } from '../src/waits/watch.js';
import { CANCEL_CHANNEL, AbortableActivities } from '../src/turns/abortable-activities.js';
import { openStorage } from '../src/files/open-storage.js';
import { warnOfForeignStorage } from '../src/files/ownership.js';
import { collectWhenIdle } from '../src/platform/idle-collector.js';
import { runIfEntry } from '../src/platform/is-entry.js';
import { createLogger, type Logger } from '../src/platform/logger.js';
import { observePool } from '../src/db/database-metrics.js';
import { createMcpNetwork } from '../src/network/network.js';
import { OauthAccess } from '../src/mcp/oauth/tokens.js';
import { loadModels } from '../src/models/catalogue.js';
import { createReadiness, type PartStates } from '../src/platform/readiness.js';
import { loadSettings } from '../src/models/settings.js';
import { misspeltSettings } from '../src/platform/misspelt-settings.js';
import { startStatusServer } from '../src/platform/status-server.js';
import { createTemporalClient, temporalSettings } from '../src/temporal/connection.js';
import { traceTemporal } from '../src/temporal/tracing.js';
import { stopTracing } from '../src/platform/tracing.js';
import { ensureMaintenanceSchedules } from '../src/temporal/maintenance-schedules.js';
import { openTurnEngine } from '../src/engine.js';
import { FairQueue } from '../src/platform/fair-queue.js';
import { MAX_WAITING_CALLS } from './tools/mcp/call-wait.js';
import { ModelClients } from './model/clients.js';
import { createSend } from './model/send.js';
import { installTemporalRuntime } from './temporal-runtime.js';
import { startWorkers } from './start-workers.js';
import { openSandboxes } from './sandbox/open.js';
import { ManifestCache } from '../src/workspaces/manifest-cache.js';
import { McpConnections } from './tools/mcp/connections.js';

export interface RunningWorker {
  /** An API in the same process shares this connection, so it can start turns eagerly. */
  connection: NativeConnection;
  notifier: Notifier;
  /** Rejects when the worker stops on its own or has lost its lease: see `exitWhenFailed`. */
  failed: Promise<never>;
  /** Takes no new work and gives running activities SHUTDOWN_GRACE_SECONDS. Other workers take over the rest. */
  close(): Promise<void>;
}

/** Starts a worker: config → deps → worker. While Temporal is unreachable it waits. */
export async function startWorker(
  config: Config,
  log = createLogger(config.logLevel, 'worker'),
): Promise<RunningWorker> {
  await installTemporalRuntime(log);
  const tracing = await traceTemporal(process.env);
  const catalogue = await loadModels(config);
  let database: () => ReturnType<typeof postgresState> = () => Promise.resolve({ postgres: 'away' });
  const storage = await openStorage(config);
  const sandboxes = await openSandboxes(config, storage, log);
  let health: () => Promise<Omit<PartStates, 'postgres' | 'reason' | 'sandbox' | 'sandbox_limits'>> = () =>
    Promise.resolve({ temporal: 'away', worker: 'away' });
  const readiness = createReadiness(async () => {
    const [state, parts] = await Promise.all([database(), health()]);
    const limits = sandboxes.limits();
    const sandbox = sandboxes.isUp() ? 'ok' : 'off';
    return { ...state, ...parts, sandbox, ...(limits !== null && { sandbox_limits: { ...limits } }) };
  });
  const status =
    config.metricsPort === null
      ? null
      : await startStatusServer({ host: config.host, port: config.metricsPort }, readiness);
  const db = await openWhenReachable(() => openDataSource(config.databaseUrl, config.databasePoolSize, 'worker'), log);
  database = () => postgresState(db);
  const stopObserving = observePool(db);
  await waitForSchema(db, log);
  const backgroundPool = await openWhenReachable(() => openBackgroundPool(config.databaseUrl, 'worker'), log);
  const connection = await connect(log);
  const notifier = new Notifier(db, log);
  const deltas = new DeltaStore(db, notifier, log);
  const abortableActivities = new AbortableActivities();
  const slots = new FairQueue({ total: config.workerMaxActivities });
  const conversations = new ConversationCache();
  const schemaChecks = new SchemaChecks();
  const answers = new AnswerWatch((ids) => findClosedQuestions(db, ids));
  const waitingCalls = new FairQueue({ perProject: MAX_WAITING_CALLS });
  const network = createMcpNetwork(config.mcpAllowedHosts);
  const memory = new MemoryShare(config.mediaBudgetBytes, Math.ceil(config.mediaBudgetBytes / 2));
  const mcp = new McpConnections(network, config, new OauthAccess({ db, mcpNetwork: network, config, log }), memory);
  const { provider } = sandboxes;
  const onSignal: Record<string, (payload: string) => void> = {
    [CANCEL_CHANNEL]: (payload) => abortableActivities.cancel(payload),
    [ANSWER_CHANNEL]: (payload) => answers.notify(payload),
    [CREDENTIAL_CHANNEL]: (payload) => droppedOf(payload).forEach((one) => void mcp.closeOf(one)),
    ...(provider !== null && {
      [DELETED_SESSIONS_CHANNEL]: (payload: string) => sessionsOf(payload).forEach((id) => void provider.dispose(id)),
    }),
  };
  const signals = new Listener(
    config.databaseListenUrl,
    {
      onPayload: (payload, channel) => onSignal[channel]!(payload),
      onConnect: () => {
        void answers.check();
        void abortableActivities
          .cancelMissed(db)
          .catch((err: unknown) => log.warn({ err }, 'missed cancel requests could not be read'));
      },
    },
    log,
  );
  for (const channel of Object.keys(onSignal)) void signals.add(channel);
  const engine = openTurnEngine(config, {
    ...{ db, backgroundPool, notifier, models: catalogue, log, connection },
    eager: false,
  });
  ({ health } = engine);
  void warnOfForeignStorage(db, storage, log);
  const models = await ModelClients.open(catalogue, process.env, createSend(storage, memory));
  const forCommands = { sandbox: sandboxes.provider, manifests: new ManifestCache() };
  const forCalls = { schemaChecks, mcp, memory, slots, waitingCalls, ...forCommands };
  const forTurns = { deltas, models, conversations, abortableActivities, ...forCalls };
  const parts = { config, db, log, storage, notifier, answers, ...forTurns };
  const working = await startWorkers({ parts, backgroundPool, catalogue, network, connection, tracing, engine });
  onSignal[DELIVERIES_CHANNEL] = working.startDeliveries;
  void signals.add(DELIVERIES_CHANNEL);
  log.info({ task_queue: config.taskQueue }, 'worker started');
  if (config.maintenance) void ensureMaintenanceSchedules(createTemporalClient(connection), config, log);

  const shutDown = async (): Promise<void> => {
    await working.close();
    answers.close();
    sandboxes.close();
    await Promise.all([engine.close(), signals.close()]);
    await Promise.all([mcp.closeAll(), schemaChecks.close(), notifier.flush(), status?.close()]);
    await connection.close();
    stopObserving();
    await Promise.all([db.destroy(), backgroundPool.destroy()]);
    await stopTracing();
    log.info('worker stopped');
  };
  let shuttingDown: Promise<void> | undefined;
  return { connection, notifier, failed: working.failed, close: () => (shuttingDown ??= shutDown()) };
}

async function connect(log: Logger): Promise<NativeConnection> {
  const { connectionOptions } = temporalSettings();
  return pRetry(() => NativeConnection.connect(connectionOptions), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 250,
    maxTimeout: 3000,
    onFailedAttempt: ({ error }) =>
      log.warn({ err: error }, 'Temporal is unreachable, the worker retries the connection'),
  });
}

/**
 * Exits when the worker fails, without waiting for its activities: other workers continue them, and what started this process
 * starts it again. The requests to models and tools that are under way end with the process.
 */
export function exitWhenFailed({ failed }: RunningWorker, log: Logger): void {
  failed.catch((error: Error) => {
    log.error({ err: error }, `this process exits, to be started again: ${error.message}`);
    process.exit(1);
  });
}

/**
 * `npm run worker`: runs until SIGTERM or SIGINT, then drains. A worker that still waits for Postgres or Temporal exits
 * at once: as PID 1 of a container it would ignore the signal without this handler.
 */
async function main(): Promise<void> {
  let worker: RunningWorker | null = null;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void Promise.resolve(worker?.close()).then(() => process.exit(0)));
  }
  collectWhenIdle();
  const config = await loadSettings(process.env);
  const log = createLogger(config.logLevel, 'worker');
  for (const sentence of misspeltSettings(process.env)) log.warn(sentence);
  worker = await startWorker(config, log);
  exitWhenFailed(worker, log);
}

runIfEntry(import.meta.url, main);
