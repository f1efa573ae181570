import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';
import { Ajv } from 'ajv';
import { readFile } from 'node:fs/promises';
import { ConfigError, type Config } from '../platform/config.js';
import { BUILT_IN_MODELS } from './built-in.js';
import { MODEL_ENTRY_SCHEMA, type ModelEntry } from './entry.js';
import { FEDERATION_VARIABLES } from './federated-tokens.js';
import { tooPrecise } from './price.js';
import { NO_TELEMETRY } from './telemetry.js';

export type { ModelEntry };

/** The models by id, in display order. */
export type ModelCatalogue = ReadonlyMap<string, ModelEntry>;

const NO_MODEL = 'MODELS_FILE or ANTHROPIC_API_KEY must be set: there is no model to run';
const check = new Ajv({ allErrors: true, formats: { double: true } }).compile<ModelEntry[]>({
  type: 'array',
  minItems: 1,
  items: MODEL_ENTRY_SCHEMA,
});

/**
 * Loads the catalogue from `MODELS_FILE`, or else from the account of `ANTHROPIC_API_KEY` (decisions.md "Running it").
 * @throws ConfigError listing every error of the file, or if neither is set
 */
export async function loadModels(config: Config): Promise<ModelCatalogue> {
  if (config.modelsFile !== null) return catalogueOf(await readModelsFile(config.modelsFile));
  if (config.anthropicApiKey !== null) return catalogueOf(await accountModels(config.anthropicApiKey));
  throw new ConfigError([NO_MODEL]);
}

/**
 * Checks the models as far as possible without a network request.
 * @throws ConfigError listing every error
 */
export async function checkModels(env: NodeJS.ProcessEnv): Promise<void> {
  if (!env.MODELS_FILE && !env.ANTHROPIC_API_KEY) throw new ConfigError([NO_MODEL]);
  if (!env.MODELS_FILE) return;
  const models = await readModelsFile(env.MODELS_FILE);
  const missing = models.flatMap((entry) =>
    credentialVariables(entry)
      .filter((variable) => !env[variable])
      .map((variable) => `${variable} must be set: ${usedFor(entry)}`),
  );
  if (missing.length > 0) throw new ConfigError(missing);
}

function credentialVariables({ api_key_env, credentials }: ModelEntry): readonly string[] {
  if (credentials === 'federated') return FEDERATION_VARIABLES;
  return api_key_env === undefined ? [] : [api_key_env];
}

function usedFor({ id, credentials }: ModelEntry): string {
  return credentials === 'federated' ? `model ${id} uses identity federation` : `it is the key of model ${id}`;
}

/**
 * The API key of a model, or undefined if its server needs none. ANTHROPIC_API_KEY is sent only to Anthropic: an entry
 * with its own address must name its own variable.
 */
export function apiKeyOf(entry: ModelEntry, env: NodeJS.ProcessEnv): string | undefined {
  if ((entry.provider ?? 'anthropic') !== 'anthropic' || entry.credentials !== undefined) return undefined;
  const variable = entry.api_key_env ?? (entry.base_url === undefined ? 'ANTHROPIC_API_KEY' : undefined);
  return variable === undefined ? undefined : env[variable];
}

async function readModelsFile(file: string): Promise<ModelEntry[]> {
  const invalid = (reason: string): ConfigError => new ConfigError([`MODELS_FILE ${file} ${reason}`]);
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw invalid(`cannot be read (${error.code})`);
  });
  let models: unknown;
  try {
    models = JSON.parse(content);
  } catch (error) {
    throw invalid(`is not JSON: ${(error as Error).message}`);
  }
  if (!check(models)) {
    throw new ConfigError(check.errors!.map((error) => `MODELS_FILE ${error.instancePath} ${error.message}`));
  }
  const contradictory = models.filter(hasTwoCredentials);
  if (contradictory.length > 0) {
    throw invalid(
      `gives ${contradictory.map(({ id }) => id).join(', ')} two kinds of credentials: keep one of "api_key_env", "credentials" and a Google provider`,
    );
  }
  for (const { id, price } of models) {
    const rate = price === undefined ? null : tooPrecise(price);
    if (rate !== null) {
      throw invalid(
        `gives ${id} a price of ${price![rate]} for ${rate}: at most 9 digits before and 6 after the point`,
      );
    }
  }
  const currencies = new Set(models.flatMap(({ price }) => price?.currency ?? []));
  if (currencies.size > 1) throw invalid(`has prices in ${[...currencies].join(' and ')}: use one currency`);
  const twice = models.filter(({ id }, index) => models.findIndex((other) => other.id === id) !== index);
  if (twice.length > 0) throw invalid(`names an id twice: ${twice.map(({ id }) => id).join(', ')}`);
  return models;
}

function hasTwoCredentials({ provider = 'anthropic', api_key_env, credentials }: ModelEntry): boolean {
  return [provider !== 'anthropic', api_key_env !== undefined, credentials !== undefined].filter(Boolean).length > 1;
}

/**
 * The account's models; the built-in list if the account's models cannot be listed now. Only a process that asks loads the
 * SDK, which takes a quarter of a second.
 */
async function accountModels(apiKey: string): Promise<ModelEntry[]> {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ apiKey, timeout: 10_000, maxRetries: 1, openTelemetry: NO_TELEMETRY });
  try {
    const models: ModelEntry[] = [];
    for await (const model of client.models.list({ limit: 100 })) {
      if (model.lifecycle !== 'retired') models.push(entryOf(model));
    }
    return models.length > 0 ? models : BUILT_IN_MODELS;
  } catch (error) {
    if (error instanceof Anthropic.APIError) return BUILT_IN_MODELS;
    throw error;
  }
}

function entryOf(model: ModelInfo): ModelEntry {
  const thinking = model.capabilities?.thinking;
  const kind = thinking?.supported !== true ? 'none' : thinking.types.adaptive.supported ? 'adaptive' : 'budget';
  return {
    id: model.id,
    display_name: model.display_name,
    model: model.id,
    // If the API gives no limits: the smallest of any current model.
    context_window: model.max_input_tokens ?? 200_000,
    max_output_tokens: model.max_tokens ?? 32_000,
    supports_thinking: kind !== 'none',
    thinking: kind,
  };
}

function catalogueOf(models: ModelEntry[]): ModelCatalogue {
  return new Map(models.map((entry) => [entry.id, entry]));
}
