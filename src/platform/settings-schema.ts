import { Ajv } from 'ajv';
import type { FromSchema } from 'json-schema-to-ts';
import { addressProblems, type DatabaseAuth } from './database-address.js';
import { API, EVERY_PROCESS, WORKER } from './settings-table.js';

const schema = {
  type: 'object',
  properties: { ...EVERY_PROCESS, ...API, ...WORKER },
  required: ['DATABASE_URL', 'ENCRYPTION_KEY'],
  additionalProperties: false,
} as const;

type Settings = FromSchema<typeof schema>;

const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true });
ajv.addVocabulary(['shown']);
const check = ajv.compile(schema);
export const SETTING_NAMES = Object.keys(schema.properties);

/** Reads and checks the settings. An empty variable counts as unset. `errors` lists every error, one line each. */
export function readSettings(env: NodeJS.ProcessEnv): { settings: Settings; errors: string[] } {
  const settings: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    if (env[name] !== undefined && env[name] !== '') settings[name] = env[name];
  }
  const errors = check(settings) ? [] : (check.errors ?? []).map(errorOf);
  const keys = encryptionKeysOf(env.ENCRYPTION_KEY ?? '');
  if (settings.ENCRYPTION_KEY !== undefined && keys.some((key) => key.length !== 32)) {
    errors.push(
      'ENCRYPTION_KEY must be 32 bytes in base64, or a comma list of such keys (make one: openssl rand -base64 32)',
    );
  }
  const allowedHosts = listOf(env.MCP_ALLOWED_HOSTS);
  if (allowedHosts.some((pair) => !/^(\[[0-9a-f:.]+\]|[^:\s/]+):\d+$/i.test(pair))) {
    errors.push('MCP_ALLOWED_HOSTS must be a comma list of host:port');
  }
  const origins = listOf(env.CORS_ORIGINS);
  if (origins.some((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)) {
    errors.push('CORS_ORIGINS must be a comma list of origins such as https://app.example.com (no path, no *)');
  }
  errors.push(...contradictions(settings, env));
  const deployment = { name: settings.WORKER_DEPLOYMENT_NAME, buildId: settings.WORKER_BUILD_ID };
  if ((deployment.name === undefined) !== (deployment.buildId === undefined)) {
    errors.push('WORKER_DEPLOYMENT_NAME and WORKER_BUILD_ID must be set together');
  }
  return { settings: settings as unknown as Settings, errors };
}

/** Combinations of valid settings that contradict each other. */
function contradictions(settings: Record<string, unknown>, env: NodeJS.ProcessEnv): string[] {
  const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== '';
  const errors: string[] = [];
  if (settings.METRICS_PORT !== undefined && settings.METRICS_PORT !== 0 && settings.METRICS_PORT === settings.PORT) {
    errors.push('METRICS_PORT is the same as PORT: give /metrics a port of its own, or leave METRICS_PORT unset');
  }
  for (const name of ['DATABASE_URL', 'DATABASE_LISTEN_URL']) {
    errors.push(...addressProblems(name, env[name] ?? '', settings.DATABASE_AUTH as DatabaseAuth));
  }
  const keys = listOf(env.ENCRYPTION_KEY);
  if (new Set(keys).size < keys.length) errors.push('ENCRYPTION_KEY names a key twice');
  if (isSet('TEMPORAL_API_KEY') && !isSet('TEMPORAL_ADDRESS') && !usesTemporalFile(env)) {
    errors.push('TEMPORAL_API_KEY is set without TEMPORAL_ADDRESS: it would go to a local server');
  }
  if (isSet('TEMPORAL_API_KEY') && env.TEMPORAL_TLS === 'false') {
    errors.push('TEMPORAL_API_KEY is set with TEMPORAL_TLS=false: it would be sent in the clear');
  }
  for (const form of ['PATH', 'DATA']) {
    const [cert, key] = [`TEMPORAL_TLS_CLIENT_CERT_${form}`, `TEMPORAL_TLS_CLIENT_KEY_${form}`];
    if (isSet(cert) !== isSet(key)) errors.push(`${cert} and ${key} must be set together`);
  }
  return errors;
}

function usesTemporalFile(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.TEMPORAL_CONFIG_FILE) || Boolean(env.TEMPORAL_PROFILE);
}

function errorOf(error: NonNullable<typeof check.errors>[number]): string {
  if (error.keyword === 'required')
    return `${(error.params as { missingProperty: string }).missingProperty} must be set`;
  const values =
    error.keyword === 'enum' ? `: ${(error.params as { allowedValues: string[] }).allowedValues.join(', ')}` : '';
  return `${error.instancePath.slice(1)} ${error.message}${values}`;
}

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
