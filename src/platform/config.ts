import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defaultMemoryBytes } from './memory-share.js';
import { MIB } from './units.js';
import { databaseAddress } from './database-address.js';
import { SetupError } from './setup-error.js';
import { encryptionKeysOf, listOf, readSettings } from './settings-schema.js';

const COMMANDS_IN_PODS = 50;

/** The errors in the settings, one line each. */
export class ConfigError extends SetupError {
  constructor(readonly problems: string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Settings of every process, read once at start from the environment: src/platform/settings-table.ts says what each means. */
export type Config = ReturnType<typeof loadConfig>;

type CamelCase<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;
type CamelCased<Values> = { [Name in keyof Values & string as CamelCase<Name>]: Values[Name] };

/**
 * Reads and checks the settings; an empty variable counts as unset. `DATABASE_POOL_SIZE` becomes `databasePoolSize`; a setting whose
 * value is converted is written out.
 * @throws ConfigError listing every error
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const { settings, errors } = readSettings(env);
  if (errors.length > 0) throw new ConfigError(errors);
  const { DATABASE_URL, DATABASE_LISTEN_URL, DATABASE_AUTH, PUBLIC_URL, STORAGE_URL, DATA_DIR, ...others } = settings;
  const { MODELS_FILE, ANTHROPIC_API_KEY, ENCRYPTION_KEY, METRICS_PORT, TEMPORAL_UI_URL, ...rest } = others;
  const { WORKER_DEPLOYMENT_NAME: name, WORKER_BUILD_ID: buildId, UPLOAD_BUDGET_MB, MEDIA_BUDGET_MB, ...more } = rest;
  const { SANDBOX_ROOT, SANDBOX_DIR, SANDBOX_MAX_COMMANDS, ...plain } = more;
  return {
    ...camelCased(plain),
    publicUrl: (PUBLIC_URL ?? `http://${urlHost(plain.HOST)}:${plain.PORT}`).replace(/\/+$/, ''),
    databaseUrl: databaseAddress(DATABASE_URL, DATABASE_AUTH),
    databaseListenUrl: databaseAddress(DATABASE_LISTEN_URL ?? DATABASE_URL, DATABASE_AUTH),
    storageUrl: STORAGE_URL ?? defaultStorageUrl(DATA_DIR),
    dataDir: DATA_DIR,
    /** Null: the machine's programs. */
    sandboxRoot: SANDBOX_ROOT ?? null,
    /** Null: below `dataDir` or the temporary folder. */
    sandboxDir: SANDBOX_DIR ?? null,
    sandboxMaxCommands: SANDBOX_MAX_COMMANDS ?? defaultCommands(plain.SANDBOX_PROVIDER),
    modelsFile: MODELS_FILE ?? null,
    anthropicApiKey: ANTHROPIC_API_KEY ?? null,
    encryptionKeys: encryptionKeysOf(ENCRYPTION_KEY),
    mcpAllowedHosts: listOf(plain.MCP_ALLOWED_HOSTS).map((pair) => pair.toLowerCase()),
    corsOrigins: listOf(plain.CORS_ORIGINS),
    uploadBudgetBytes: UPLOAD_BUDGET_MB * MIB,
    mediaBudgetBytes: MEDIA_BUDGET_MB === undefined ? defaultMemoryBytes() : MEDIA_BUDGET_MB * MIB,
    /** Null: no worker versioning. */
    workerDeployment: name !== undefined && buildId !== undefined ? { name, buildId } : null,
    webhookRetrySeconds: plain.WEBHOOK_RETRY_SECONDS.split(',').map(Number),
    metricsPort: METRICS_PORT ?? null,
    temporalUiUrl: TEMPORAL_UI_URL?.replace(/\/+$/, '') ?? null,
    trustTraceparent: plain.TRUST_TRACEPARENT === 'on',
    console: plain.CONSOLE === 'on',
    maintenance: plain.MAINTENANCE === 'on',
    webhookDeliveries: plain.WEBHOOK_DELIVERIES === 'on',
    /** Null: sessions are kept. */
    retentionDays: plain.RETENTION_DAYS === 0 ? null : plain.RETENTION_DAYS,
  };
}

function camelCased<Values extends object>(values: Values): CamelCased<Values> {
  const name = (constant: string): string =>
    constant.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(values).map(([constant, value]) => [name(constant), value])) as never;
}

export function defaultStorageUrl(dataDir: string): string {
  return pathToFileURL(resolve(dataDir, 'files')).href;
}

/** A command in a pod takes a connection of the worker; on the worker's machine it takes a core. */
function defaultCommands(provider: string): number {
  return provider === 'kubernetes' ? COMMANDS_IN_PODS : Math.max(2, availableParallelism());
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
