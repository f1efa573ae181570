import type { APIError } from '@anthropic-ai/sdk';
import { isApiError, isConnectionError } from '../../src/models/api-error.js';
import { ANTHROPIC_URL, openModelApi, type ModelApi } from '../../src/models/api.js';
import { apiKeyOf, type ModelEntry } from '../../src/models/catalogue.js';
import { CredentialsError } from '../../src/platform/bearer-tokens.js';
import { googleTokens } from '../../src/platform/google-tokens.js';
import { CheckError, type Check } from './check.js';

const TIMEOUT_MS = 10_000;

export function modelCheck(entry: ModelEntry, env: NodeJS.ProcessEnv): Check {
  const remedies = remediesOf(entry);
  return {
    part: `model ${entry.id}`,
    remedy: remedies.connection,
    async run() {
      if (needsKey(entry) && apiKeyOf(entry, env) === undefined)
        throw new CheckError('has no key', `Set ${variable(entry)}.`);
      const options = { send: fetch, google: googleTokens(), maxRetries: 0, timeout: TIMEOUT_MS };
      const api = await openModelApi(entry, env, options);
      try {
        return await ask(api, entry);
      } catch (error) {
        throw isApiError(error) ? failureOf(error, entry, remedies) : error;
      }
    },
  };
}

interface Remedies {
  address: string;
  connection: string;
  credentials: string;
  permission: string;
}

function remediesOf(entry: ModelEntry): Remedies {
  const { provider = 'anthropic', credentials } = entry;
  if (provider === 'anthropic') {
    const address = entry.base_url ?? ANTHROPIC_URL;
    return {
      address,
      connection: `Check that ${address} can be reached from here.`,
      credentials:
        credentials === 'federated'
          ? 'Check the federation rule, the organization and the identity token file.'
          : `Check ${variable(entry)}.`,
      permission: 'Allow the key the model in its workspace.',
    };
  }
  const isVertex = 'google_vertex' in provider;
  const { project } = isVertex ? provider.google_vertex : provider.google_cloud;
  const address = entry.base_url ?? (isVertex ? 'Vertex AI' : 'Claude on Google Cloud');
  return {
    address,
    connection: `Check that ${address} can be reached from here.`,
    credentials:
      'Give this process application default credentials: workload identity on GKE, `gcloud auth application-default login` elsewhere.',
    permission: isVertex
      ? `Enable the model in Model Garden and grant roles/aiplatform.user on project ${project} to this process’ account.`
      : `Grant this process’ account access to the workspace in project ${project}.`,
  };
}

function failureOf(error: APIError, entry: ModelEntry, { address, ...remedies }: Remedies): CheckError {
  if (error.cause instanceof CredentialsError) return new CheckError(error.cause.message, remedies.credentials);
  if (isConnectionError(error)) return new CheckError(`${address} cannot be reached`, remedies.connection);
  const { status } = error;
  if (status === 401) return new CheckError(`${address} refuses the credentials`, remedies.credentials);
  if (status === 403) return new CheckError(`${address} does not permit ${entry.model}`, remedies.permission);
  if (status === 429) {
    return new CheckError(
      `${address} has no quota for ${entry.model} at the moment`,
      entry.provider === undefined || entry.provider === 'anthropic'
        ? 'Wait, or ask for a higher rate limit.'
        : 'Ask for quota of this model and region in the Google Cloud console: it is 0 until you do.',
    );
  }
  return new CheckError(`${address} answers ${status ?? 'nothing'}`, remedies.connection);
}

function needsKey({ provider = 'anthropic', base_url, api_key_env, credentials }: ModelEntry): boolean {
  return provider === 'anthropic' && credentials === undefined && (base_url === undefined || api_key_env !== undefined);
}

function variable({ api_key_env }: ModelEntry): string {
  return api_key_env ?? 'ANTHROPIC_API_KEY';
}

/**
 * Counting tokens checks credentials and model. Servers that cannot count are asked for their model list. A gateway that
 * offers neither may still answer messages, which cost money: the check does not send one.
 */
async function ask({ messages, listModels }: ModelApi, { model, base_url }: ModelEntry): Promise<string> {
  try {
    await messages.countTokens({ model, messages: [{ role: 'user', content: 'x' }] });
    return `${model} answers`;
  } catch (error) {
    if (!isNotOffered(error) || listModels === null) throw error;
  }
  const known: string[] = [];
  try {
    for await (const { id } of listModels()) known.push(id);
  } catch (error) {
    if (!isNotOffered(error)) throw error;
    if (base_url !== undefined && /\/v1\/?$/.test(base_url)) {
      throw new CheckError(
        `${base_url} has no /v1/models`,
        'Write "base_url" of this entry in MODELS_FILE without /v1, which is added.',
      );
    }
    return `the server answers; it neither counts tokens nor lists models, so key and model are not checked`;
  }
  if (known.includes(model)) return `${model} is listed`;
  throw new CheckError(`the API does not know ${model}`, 'Correct "model" of this entry in MODELS_FILE.');
}

function isNotOffered(error: unknown): boolean {
  return isApiError(error) && (error.status === 404 || error.status === 405 || error.status === 501);
}
