import { Ajv } from 'ajv';
import type { FromSchema } from 'json-schema-to-ts';
import { DATABASE_AUTH } from './database-address.js';

const optionalText = { type: 'string', minLength: 1 } as const;
const schema = {
  type: 'object',
  properties: {
    HOST: { type: 'string', default: '127.0.0.1', minLength: 1 },
    PORT: { type: 'integer', default: 8080, minimum: 0, maximum: 65535 },
    PUBLIC_URL: { ...optionalText, pattern: '^https?://[^\\s]+$' },
    DATABASE_URL: { type: 'string', pattern: '^postgres(ql)?://' },
    DATABASE_LISTEN_URL: { ...optionalText, pattern: '^postgres(ql)?://' },
    DATABASE_AUTH: { type: 'string', default: 'password', enum: DATABASE_AUTH },
    DATABASE_POOL_SIZE: { type: 'integer', default: 10, minimum: 2, maximum: 500 },
    TASK_QUEUE: { type: 'string', default: 'turns', minLength: 1 },
    STORAGE_URL: { ...optionalText, pattern: '^(file:///|gs://[^/]+)' },
    DATA_DIR: { type: 'string', default: '.data', minLength: 1 },
    MODELS_FILE: optionalText,
    ANTHROPIC_API_KEY: optionalText,
    ENCRYPTION_KEY: { type: 'string', minLength: 1 },
    MCP_ALLOWED_HOSTS: { type: 'string', default: '' },
    RATE_LIMIT_PER_MINUTE: { type: 'integer', default: 60, minimum: 0 },
    MAX_STORAGE_PER_PROJECT: { type: 'integer', default: 20 * 1024 ** 3, minimum: 0 },
    MAX_STREAMS_PER_PROJECT: { type: 'integer', default: 1000, minimum: 1 },
    MAX_STEPS: { type: 'integer', default: 100, minimum: 1, maximum: 2000 },
    TURN_TIMEOUT_SECONDS: { type: 'integer', default: 3600, minimum: 1 },
    MODEL_IDLE_SECONDS: { type: 'number', default: 90, exclusiveMinimum: 0 },
    MODEL_RETRY_SECONDS: { type: 'number', default: 300, minimum: 0 },
    TOOL_TIMEOUT_SECONDS: { type: 'number', default: 300, exclusiveMinimum: 0 },
    ACTION_TIMEOUT_SECONDS: { type: 'number', default: 86_400, exclusiveMinimum: 0, maximum: 31_536_000 },
    LONG_WAIT_SECONDS: { type: 'number', default: 60, exclusiveMinimum: 0 },
    SHUTDOWN_GRACE_SECONDS: { type: 'number', default: 90, minimum: 0 },
    WORKER_MAX_ACTIVITIES: { type: 'integer', default: 200, minimum: 1 },
    UPLOAD_BUDGET_MB: { type: 'integer', default: 2048, minimum: 1 },
    MEDIA_BUDGET_MB: { type: 'integer', minimum: 1 },
    WORKER_DEPLOYMENT_NAME: optionalText,
    WORKER_BUILD_ID: optionalText,
    WEBHOOK_RETRY_SECONDS: {
      type: 'string',
      default: '5,300,1800,7200,18000,36000,50400,72000,86400',
      pattern: '^\\d+(\\.\\d+)?(,\\d+(\\.\\d+)?)*$',
    },
    METRICS_PORT: { type: 'integer', minimum: 0, maximum: 65535 },
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
    WEBHOOK_DELIVERIES: { type: 'string', default: 'on', enum: ['on', 'off'] },
    SCHEDULE_CATCHUP_SECONDS: { type: 'number', default: 600, minimum: 10, maximum: 31_536_000 },
    RETENTION_DAYS: { type: 'integer', default: 0, minimum: 0, maximum: 36_500 },
  },
  required: ['DATABASE_URL', 'ENCRYPTION_KEY'],
} as const;

/** The settings from the environment, with defaults. */
type Settings = FromSchema<typeof schema>;

const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true });
const check = ajv.compile(schema);
export const SETTING_NAMES = Object.keys(schema.properties);

/** Reads and checks the settings. An empty variable counts as unset. `faults` lists every error, one line each. */
export function readSettings(env: NodeJS.ProcessEnv): { settings: Settings; faults: string[] } {
  const settings: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    if (env[name] !== undefined && env[name] !== '') settings[name] = env[name];
  }
  const faults = check(settings) ? [] : (check.errors ?? []).map(faultOf);
  const keys = encryptionKeysOf(env.ENCRYPTION_KEY ?? '');
  if (settings.ENCRYPTION_KEY !== undefined && keys.some((key) => key.length !== 32)) {
    faults.push(
      'ENCRYPTION_KEY must be 32 bytes in base64, or a comma list of such keys (make one: openssl rand -base64 32)',
    );
  }
  const allowedHosts = listOf(env.MCP_ALLOWED_HOSTS);
  if (allowedHosts.some((pair) => !/^(\[[0-9a-f:.]+\]|[^:\s/]+):\d+$/i.test(pair))) {
    faults.push('MCP_ALLOWED_HOSTS must be a comma list of host:port');
  }
  const origins = listOf(env.CORS_ORIGINS);
  if (origins.some((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)) {
    faults.push('CORS_ORIGINS must be a comma list of origins such as https://app.example.com (no path, no *)');
  }
  faults.push(...contradictions(settings, env));
  const deployment = { name: settings.WORKER_DEPLOYMENT_NAME, buildId: settings.WORKER_BUILD_ID };
  if ((deployment.name === undefined) !== (deployment.buildId === undefined)) {
    faults.push('WORKER_DEPLOYMENT_NAME and WORKER_BUILD_ID must be set together');
  }
  return { settings: settings as unknown as Settings, faults };
}

/** Combinations of valid settings that contradict each other. */
function contradictions(settings: Record<string, unknown>, env: NodeJS.ProcessEnv): string[] {
  const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== '';
  const faults: string[] = [];
  if (settings.METRICS_PORT !== undefined && settings.METRICS_PORT !== 0 && settings.METRICS_PORT === settings.PORT) {
    faults.push('METRICS_PORT is the same as PORT: give /metrics a port of its own, or leave METRICS_PORT unset');
  }
  for (const name of ['DATABASE_URL', 'DATABASE_LISTEN_URL']) {
    const url = env[name] ?? '';
    if (settings.DATABASE_AUTH === 'google_iam' && URL.canParse(url) && new URL(url).password !== '') {
      faults.push(`${name} has a password, and DATABASE_AUTH=google_iam logs in with tokens: remove one of them`);
    }
  }
  const keys = listOf(env.ENCRYPTION_KEY);
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

/** Splits a comma list. */
export function listOf(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** AES-256 keys, newest first. */
export function encryptionKeysOf(setting: string): Buffer[] {
  return setting.split(',').map((key) => Buffer.from(key.trim(), 'base64'));
}
