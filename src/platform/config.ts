import { Ajv, type JSONSchemaType } from 'ajv';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defaultByteBudget, MIB } from './byte-budget.js';

/** Settings of every process, read once at start from the environment (contract.md §5). */
export interface Config {
  host: string;
  port: number;
  /** Base address that clients see, without a trailing slash. */
  publicUrl: string;
  databaseUrl: string;
  /** A direct connection for LISTEN where `databaseUrl` leads to a pooler. */
  databaseListenUrl: string;
  databasePoolSize: number;
  taskQueue: string;
  storageUrl: string;
  modelsFile: string | null;
  anthropicApiKey: string | null;
  /** AES-256 keys, newest first. */
  encryptionKeys: Buffer[];
  /** `host:port` pairs exempt from https and public-address checks. */
  mcpAllowedHosts: string[];
  rateLimitPerMinute: number;
  /** Event streams of a project that an API process serves at a time. */
  maxStreamsPerProject: number;
  maxSteps: number;
  turnTimeoutSeconds: number;
  modelIdleSeconds: number;
  toolTimeoutSeconds: number;
  /** How long a call waits for a person or the client (contract.md §6). */
  actionTimeoutSeconds: number;
  /** After this long a wait goes on in a workflow run that any build may take. */
  longWaitSeconds: number;
  shutdownGraceSeconds: number;
  /** Delay at which a running activity hears of a cancel; Temporal Cloud bills each heartbeat. */
  workerMaxActivities: number;
  /** Pauses between the attempts of a webhook delivery. */
  webhookRetrySeconds: number[];
  /** Bytes of temporary files that uploads to an API process take at once. */
  uploadBudgetBytes: number;
  /** Bytes of requests with media that a worker sends at once. */
  mediaBudgetBytes: number;
  /** Worker versioning (docs/operations/workflow-changes.md); null: off. */
  workerDeployment: { name: string; buildId: string } | null;
  metricsPort: number | null;
  /** Requests continue the trace that their `traceparent` names. */
  trustTraceparent: boolean;
  corsOrigins: string[];
  /** Serves the console under /console. */
  console: boolean;
  /** Base address of the Temporal UI, without a trailing slash; null: no links to it. */
  temporalUiUrl: string | null;
  logLevel: string;
  /** Keeps the maintenance schedules in Temporal; off where another deployment of the same task queue does. */
  maintenance: boolean;
  /** Sessions without activity for that long are deleted; null: never. */
  retentionDays: number | null;
}

interface Settings {
  HOST: string;
  PORT: number;
  PUBLIC_URL?: string;
  DATABASE_URL: string;
  DATABASE_LISTEN_URL?: string;
  DATABASE_POOL_SIZE: number;
  TASK_QUEUE: string;
  STORAGE_URL?: string;
  DATA_DIR: string;
  MODELS_FILE?: string;
  ANTHROPIC_API_KEY?: string;
  ENCRYPTION_KEY: string;
  MCP_ALLOWED_HOSTS: string;
  RATE_LIMIT_PER_MINUTE: number;
  MAX_STREAMS_PER_PROJECT: number;
  MAX_STEPS: number;
  TURN_TIMEOUT_SECONDS: number;
  MODEL_IDLE_SECONDS: number;
  TOOL_TIMEOUT_SECONDS: number;
  ACTION_TIMEOUT_SECONDS: number;
  LONG_WAIT_SECONDS: number;
  SHUTDOWN_GRACE_SECONDS: number;
  WORKER_MAX_ACTIVITIES: number;
  UPLOAD_BUDGET_MB: number;
  MEDIA_BUDGET_MB?: number;
  WORKER_DEPLOYMENT_NAME?: string;
  WORKER_BUILD_ID?: string;
  WEBHOOK_RETRY_SECONDS: string;
  METRICS_PORT?: number;
  TRUST_TRACEPARENT: string;
  CORS_ORIGINS: string;
  CONSOLE: string;
  TEMPORAL_UI_URL?: string;
  LOG_LEVEL: string;
  MAINTENANCE: string;
  RETENTION_DAYS: number;
}

const optionalText = { type: 'string', nullable: true, minLength: 1 } as const;
const schema: JSONSchemaType<Settings> = {
  type: 'object',
  properties: {
    HOST: { type: 'string', default: '127.0.0.1', minLength: 1 },
    PORT: { type: 'integer', default: 8080, minimum: 0, maximum: 65535 },
    PUBLIC_URL: { ...optionalText, pattern: '^https?://[^\\s]+$' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_LISTEN_URL: { ...optionalText, pattern: '^postgres(ql)?://' },
    DATABASE_POOL_SIZE: { type: 'integer', default: 10, minimum: 2, maximum: 500 },
    TASK_QUEUE: { type: 'string', default: 'turns', minLength: 1 },
    STORAGE_URL: { ...optionalText, pattern: '^(file:///|gs://[^/]+)' },
    DATA_DIR: { type: 'string', default: '.data', minLength: 1 },
    MODELS_FILE: optionalText,
    ANTHROPIC_API_KEY: optionalText,
    ENCRYPTION_KEY: { type: 'string', minLength: 1 },
    MCP_ALLOWED_HOSTS: { type: 'string', default: '' },
    RATE_LIMIT_PER_MINUTE: { type: 'integer', default: 60, minimum: 0 },
    MAX_STREAMS_PER_PROJECT: { type: 'integer', default: 1000, minimum: 1 },
    MAX_STEPS: { type: 'integer', default: 100, minimum: 1, maximum: 2000 },
    TURN_TIMEOUT_SECONDS: { type: 'integer', default: 3600, minimum: 1 },
    MODEL_IDLE_SECONDS: { type: 'number', default: 90, exclusiveMinimum: 0 },
    TOOL_TIMEOUT_SECONDS: { type: 'number', default: 300, exclusiveMinimum: 0 },
    ACTION_TIMEOUT_SECONDS: { type: 'number', default: 86_400, exclusiveMinimum: 0, maximum: 31_536_000 },
    LONG_WAIT_SECONDS: { type: 'number', default: 60, exclusiveMinimum: 0 },
    SHUTDOWN_GRACE_SECONDS: { type: 'number', default: 90, minimum: 0 },
    WORKER_MAX_ACTIVITIES: { type: 'integer', default: 200, minimum: 1 },
    UPLOAD_BUDGET_MB: { type: 'integer', default: 2048, minimum: 1 },
    MEDIA_BUDGET_MB: { type: 'integer', nullable: true, minimum: 1 },
    WORKER_DEPLOYMENT_NAME: optionalText,
    WORKER_BUILD_ID: optionalText,
    WEBHOOK_RETRY_SECONDS: {
      type: 'string',
      default: '5,300,1800,7200,18000,36000,50400,72000,86400',
      pattern: '^\\d+(\\.\\d+)?(,\\d+(\\.\\d+)?)*$',
    },
    METRICS_PORT: { type: 'integer', nullable: true, minimum: 0, maximum: 65535 },
    TRUST_TRACEPARENT: { type: 'string', default: 'off', enum: ['on', 'off'] },
    CORS_ORIGINS: { type: 'string', default: '' },
    CONSOLE: { type: 'string', default: 'on', enum: ['on', 'off'] },
    TEMPORAL_UI_URL: { ...optionalText, pattern: '^https?://[^\\s]+$' },
    LOG_LEVEL: {
      type: 'string',
      default: 'info',
      enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    },
    MAINTENANCE: { type: 'string', default: 'on', enum: ['on', 'off'] },
    RETENTION_DAYS: { type: 'integer', default: 0, minimum: 0, maximum: 36_500 },
  },
  required: ['DATABASE_URL', 'ENCRYPTION_KEY'],
};
const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true });
const check = ajv.compile(schema);
export const SETTING_NAMES = Object.keys(schema.properties ?? {});

/** What is wrong with the settings: every fault, one line each. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`The configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Reads and checks the settings; an empty variable counts as unset.
 * @throws ConfigError listing every fault at once
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const settings: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    if (env[name] !== undefined && env[name] !== '') settings[name] = env[name];
  }
  const faults = check(settings) ? [] : (check.errors ?? []).map(faultOf);
  const keys = (env.ENCRYPTION_KEY ?? '').split(',').map((key) => Buffer.from(key.trim(), 'base64'));
  if (settings.ENCRYPTION_KEY !== undefined && keys.some((key) => key.length !== 32)) {
    faults.push(
      'ENCRYPTION_KEY must be 32 bytes in base64, or a comma list of such keys (make one: openssl rand -base64 32)',
    );
  }
  const allowedHosts = list(env.MCP_ALLOWED_HOSTS);
  if (allowedHosts.some((pair) => !/^(\[[0-9a-f:.]+\]|[^:\s/]+):\d+$/i.test(pair))) {
    faults.push('MCP_ALLOWED_HOSTS must be a comma list of host:port');
  }
  const origins = list(env.CORS_ORIGINS);
  if (origins.some((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)) {
    faults.push('CORS_ORIGINS must be a comma list of origins such as https://app.example.com (no path, no *)');
  }
  faults.push(...contradictions(settings, env));
  const deployment = { name: settings.WORKER_DEPLOYMENT_NAME, buildId: settings.WORKER_BUILD_ID };
  if ((deployment.name === undefined) !== (deployment.buildId === undefined)) {
    faults.push('WORKER_DEPLOYMENT_NAME and WORKER_BUILD_ID must be set together');
  }
  if (faults.length > 0) throw new ConfigError(faults);

  const valid = settings as unknown as Settings;
  return {
    host: valid.HOST,
    port: valid.PORT,
    publicUrl: (valid.PUBLIC_URL ?? `http://${urlHost(valid.HOST)}:${valid.PORT}`).replace(/\/+$/, ''),
    databaseUrl: valid.DATABASE_URL,
    databaseListenUrl: valid.DATABASE_LISTEN_URL ?? valid.DATABASE_URL,
    databasePoolSize: valid.DATABASE_POOL_SIZE,
    taskQueue: valid.TASK_QUEUE,
    storageUrl: valid.STORAGE_URL ?? defaultStorageUrl(valid.DATA_DIR),
    modelsFile: valid.MODELS_FILE ?? null,
    anthropicApiKey: valid.ANTHROPIC_API_KEY ?? null,
    encryptionKeys: keys,
    mcpAllowedHosts: allowedHosts.map((pair) => pair.toLowerCase()),
    rateLimitPerMinute: valid.RATE_LIMIT_PER_MINUTE,
    maxStreamsPerProject: valid.MAX_STREAMS_PER_PROJECT,
    maxSteps: valid.MAX_STEPS,
    turnTimeoutSeconds: valid.TURN_TIMEOUT_SECONDS,
    modelIdleSeconds: valid.MODEL_IDLE_SECONDS,
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
    corsOrigins: origins,
    console: valid.CONSOLE === 'on',
    temporalUiUrl: valid.TEMPORAL_UI_URL?.replace(/\/+$/, '') ?? null,
    logLevel: valid.LOG_LEVEL,
    maintenance: valid.MAINTENANCE === 'on',
    retentionDays: valid.RETENTION_DAYS === 0 ? null : valid.RETENTION_DAYS,
  };
}

/** Where files are kept unless STORAGE_URL says otherwise. */
export function defaultStorageUrl(dataDir: string): string {
  return pathToFileURL(resolve(dataDir, 'files')).href;
}

/** Settings that are each right and cannot both be meant. */
function contradictions(settings: Record<string, unknown>, env: NodeJS.ProcessEnv): string[] {
  const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== '';
  const faults: string[] = [];
  if (settings.METRICS_PORT !== undefined && settings.METRICS_PORT !== 0 && settings.METRICS_PORT === settings.PORT) {
    faults.push('METRICS_PORT is the same as PORT: the worker’s metrics need a port of their own');
  }
  const keys = list(env.ENCRYPTION_KEY);
  if (new Set(keys).size < keys.length) faults.push('ENCRYPTION_KEY names a key twice');
  if (isSet('TEMPORAL_API_KEY') && !isSet('TEMPORAL_ADDRESS') && !usesTemporalFile(env)) {
    faults.push('TEMPORAL_API_KEY is set without TEMPORAL_ADDRESS: it would go to a local server');
  }
  if (isSet('TEMPORAL_API_KEY') && env.TEMPORAL_TLS === 'false') {
    faults.push('TEMPORAL_API_KEY is set with TEMPORAL_TLS=false: it would be sent in the clear');
  }
  for (const form of ['PATH', 'DATA']) {
    const [cert, key] = [`TEMPORAL_TLS_CLIENT_CERT_${form}`, `TEMPORAL_TLS_CLIENT_KEY_${form}`];
    if (isSet(cert) !== isSet(key)) faults.push(`${cert} and ${key} must be set together`);
  }
  return faults;
}

function usesTemporalFile(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.TEMPORAL_CONFIG_FILE) || Boolean(env.TEMPORAL_PROFILE);
}

function faultOf(error: NonNullable<typeof check.errors>[number]): string {
  if (error.keyword === 'required')
    return `${(error.params as { missingProperty: string }).missingProperty} must be set`;
  const values =
    error.keyword === 'enum' ? `: ${(error.params as { allowedValues: string[] }).allowedValues.join(', ')}` : '';
  return `${error.instancePath.slice(1)} ${error.message}${values}`;
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
