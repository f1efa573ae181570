import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defaultByteBudget } from './byte-budget.js';
import { MIB } from './units.js';
import { databaseAddress } from './database-address.js';
import { encryptionKeysOf, listOf, readSettings } from './settings-schema.js';

/** Settings of every process, read once at start from the environment (contract.md §5). */
export interface Config {
  host: string;
  port: number;
  /** Base address that clients see, without a trailing slash. */
  publicUrl: string;
  /** With the way to log in (src/platform/database-address). */
  databaseUrl: string;
  /** A direct connection for LISTEN if `databaseUrl` is a pooler. */
  databaseListenUrl: string;
  databasePoolSize: number;
  taskQueue: string;
  storageUrl: string;
  modelsFile: string | null;
  anthropicApiKey: string | null;
  /** AES-256 keys, newest first. */
  encryptionKeys: Buffer[];
  /** `host:port` pairs exempt from the https and public-address checks. */
  mcpAllowedHosts: string[];
  rateLimitPerMinute: number;
  /** Limit of a project's files and skills in bytes; 0: none. */
  maxStoragePerProject: number;
  /** Limit of open event streams per project and API process. */
  maxStreamsPerProject: number;
  maxSteps: number;
  turnTimeoutSeconds: number;
  modelIdleSeconds: number;
  /** How long a model that is away is tried again, from the first failure of a call. */
  modelRetrySeconds: number;
  toolTimeoutSeconds: number;
  /** How long a call waits for a person or the client (contract.md §6). */
  actionTimeoutSeconds: number;
  /** After this time a waiting turn continues in a new workflow run, which a newer build can take. */
  longWaitSeconds: number;
  shutdownGraceSeconds: number;
  /** Activities (model and tool calls) that a worker runs at once. */
  workerMaxActivities: number;
  /** Pauses between the attempts of a webhook delivery. */
  webhookRetrySeconds: number[];
  /** Budget for the temporary files of uploads per API process. */
  uploadBudgetBytes: number;
  /** Budget for requests with media in flight per worker. */
  mediaBudgetBytes: number;
  /** Worker versioning (docs/operations/workflow-changes.md); null: off. */
  workerDeployment: { name: string; buildId: string } | null;
  metricsPort: number | null;
  /** Requests continue the trace of their `traceparent`. */
  trustTraceparent: boolean;
  corsOrigins: string[];
  /** Serves the console under /console. */
  console: boolean;
  /** Base address of the Temporal UI, without a trailing slash; null: no links to it. */
  temporalUiUrl: string | null;
  logLevel: string;
  /**
   * Keeps the maintenance schedules in Temporal. Switch it off if another deployment on the same task queue keeps them.
   */
  maintenance: boolean;
  /** This worker delivers webhooks. At least one worker of the task queue must. */
  webhookDeliveries: boolean;
  /** Times of schedules that are later than this are skipped (contract.md §12). */
  scheduleCatchupSeconds: number;
  /** Sessions without activity for this long are deleted; null: never. */
  retentionDays: number | null;
}

/** The errors in the settings, one line each. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`The configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Reads and checks the settings; an empty variable counts as unset.
 * @throws ConfigError listing every error
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const { settings: valid, faults } = readSettings(env);
  if (faults.length > 0) throw new ConfigError(faults);
  return {
    host: valid.HOST,
    port: valid.PORT,
    publicUrl: (valid.PUBLIC_URL ?? `http://${urlHost(valid.HOST)}:${valid.PORT}`).replace(/\/+$/, ''),
    databaseUrl: databaseAddress(valid.DATABASE_URL, valid.DATABASE_AUTH),
    databaseListenUrl: databaseAddress(valid.DATABASE_LISTEN_URL ?? valid.DATABASE_URL, valid.DATABASE_AUTH),
    databasePoolSize: valid.DATABASE_POOL_SIZE,
    taskQueue: valid.TASK_QUEUE,
    storageUrl: valid.STORAGE_URL ?? defaultStorageUrl(valid.DATA_DIR),
    modelsFile: valid.MODELS_FILE ?? null,
    anthropicApiKey: valid.ANTHROPIC_API_KEY ?? null,
    encryptionKeys: encryptionKeysOf(valid.ENCRYPTION_KEY),
    mcpAllowedHosts: listOf(valid.MCP_ALLOWED_HOSTS).map((pair) => pair.toLowerCase()),
    rateLimitPerMinute: valid.RATE_LIMIT_PER_MINUTE,
    maxStoragePerProject: valid.MAX_STORAGE_PER_PROJECT,
    maxStreamsPerProject: valid.MAX_STREAMS_PER_PROJECT,
    maxSteps: valid.MAX_STEPS,
    turnTimeoutSeconds: valid.TURN_TIMEOUT_SECONDS,
    modelIdleSeconds: valid.MODEL_IDLE_SECONDS,
    modelRetrySeconds: valid.MODEL_RETRY_SECONDS,
    toolTimeoutSeconds: valid.TOOL_TIMEOUT_SECONDS,
    actionTimeoutSeconds: valid.ACTION_TIMEOUT_SECONDS,
    longWaitSeconds: valid.LONG_WAIT_SECONDS,
    shutdownGraceSeconds: valid.SHUTDOWN_GRACE_SECONDS,
    workerMaxActivities: valid.WORKER_MAX_ACTIVITIES,
    uploadBudgetBytes: valid.UPLOAD_BUDGET_MB * MIB,
    mediaBudgetBytes: valid.MEDIA_BUDGET_MB === undefined ? defaultByteBudget() : valid.MEDIA_BUDGET_MB * MIB,
    workerDeployment:
      valid.WORKER_DEPLOYMENT_NAME !== undefined && valid.WORKER_BUILD_ID !== undefined
        ? { name: valid.WORKER_DEPLOYMENT_NAME, buildId: valid.WORKER_BUILD_ID }
        : null,
    webhookRetrySeconds: valid.WEBHOOK_RETRY_SECONDS.split(',').map(Number),
    metricsPort: valid.METRICS_PORT ?? null,
    trustTraceparent: valid.TRUST_TRACEPARENT === 'on',
    corsOrigins: listOf(valid.CORS_ORIGINS),
    console: valid.CONSOLE === 'on',
    temporalUiUrl: valid.TEMPORAL_UI_URL?.replace(/\/+$/, '') ?? null,
    logLevel: valid.LOG_LEVEL,
    maintenance: valid.MAINTENANCE === 'on',
    webhookDeliveries: valid.WEBHOOK_DELIVERIES === 'on',
    scheduleCatchupSeconds: valid.SCHEDULE_CATCHUP_SECONDS,
    retentionDays: valid.RETENTION_DAYS === 0 ? null : valid.RETENTION_DAYS,
  };
}

/** Where files are stored unless STORAGE_URL is set. */
export function defaultStorageUrl(dataDir: string): string {
  return pathToFileURL(resolve(dataDir, 'files')).href;
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
