import type Anthropic from '@anthropic-ai/sdk';
import type { ClientOptions } from '@anthropic-ai/sdk';
import type { BearerTokens } from '../platform/bearer-tokens.js';
import { apiKeyOf, type ModelEntry } from './catalogue.js';
import { federatedTokens } from './federated-tokens.js';
import { NO_TELEMETRY } from './telemetry.js';

export const ANTHROPIC_URL = 'https://api.anthropic.com';

export interface ModelApi {
  messages: Pick<Anthropic['messages'], 'create' | 'countTokens'>;
  /** Null where a key or nothing is sent. */
  tokens: BearerTokens | null;
  /** The API lists its models; Google's do not. */
  listModels: (() => AsyncIterable<{ id: string }>) | null;
}

interface ModelApiOptions {
  send: typeof fetch;
  /** Google's tokens, for the entries that Google serves. */
  google: BearerTokens;
  maxRetries: number;
  /** In ms. */
  timeout: number;
}

/** Opens the API of a model with the SDK of its provider. Only an entry of that provider loads it. */
export async function openModelApi(
  entry: ModelEntry,
  env: NodeJS.ProcessEnv,
  { send, google: tokens, ...options }: ModelApiOptions,
): Promise<ModelApi> {
  const { provider = 'anthropic' } = entry;
  // The SDK would log the content of an answer that it cannot parse.
  const common = { ...options, logLevel: 'off', openTelemetry: NO_TELEMETRY } as const;
  if (provider === 'anthropic') return openAnthropic(entry, env, common, send);
  const baseURL = entry.base_url;
  const withTokens = { ...common, fetch: authorized(send, tokens), baseURL };
  if ('google_vertex' in provider) {
    const { project: projectId, region } = provider.google_vertex;
    const { AnthropicVertex } = await import('@anthropic-ai/vertex-sdk');
    const { PassThroughClient } = await import('google-auth-library');
    // The SDK would ask for the token inside its request: `authorized` adds it.
    const authClient = new PassThroughClient();
    const api = new AnthropicVertex({ ...withTokens, projectId, region, authClient });
    return { messages: api.messages, tokens, listModels: null };
  }
  const { project, workspace_id: workspaceId } = provider.google_cloud;
  const { AnthropicGoogleCloud } = await import('@anthropic-ai/google-cloud-sdk');
  const api = new AnthropicGoogleCloud({ ...withTokens, project, workspaceId, skipAuth: true });
  return { messages: api.messages, tokens, listModels: null };
}

async function openAnthropic(
  entry: ModelEntry,
  env: NodeJS.ProcessEnv,
  common: ClientOptions,
  send: typeof fetch,
): Promise<ModelApi> {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const { OAUTH_API_BETA_HEADER } = await import('@anthropic-ai/sdk/lib/credentials/types');
  const isFederated = entry.credentials === 'federated';
  const tokens = isFederated ? federatedTokens(env, entry.base_url ?? env.ANTHROPIC_BASE_URL ?? ANTHROPIC_URL) : null;
  const key = isFederated ? undefined : apiKeyOf(entry, env);
  const api = new Anthropic({
    ...common,
    fetch: tokens === null ? send : authorized(send, tokens),
    // Without a value here the SDK would read the key from the environment.
    apiKey: key ?? 'none',
    authToken: null,
    defaultHeaders: isFederated ? { 'anthropic-beta': OAUTH_API_BETA_HEADER } : keyHeaders(entry, key),
    // The default is ANTHROPIC_BASE_URL or Anthropic's own API. The catalogue was listed from the same address.
    ...(entry.base_url !== undefined && { baseURL: entry.base_url }),
  });
  return { messages: api.messages, tokens, listModels: () => api.models.list({ limit: 100 }) };
}

/**
 * The SDK sends the key as a bearer token. Many servers with the Messages API expect it in `x-api-key`, as Anthropic
 * documents. A server without a key gets neither header.
 */
function keyHeaders(entry: ModelEntry, key: string | undefined): Record<string, string | null> {
  if (key === undefined) return { Authorization: null };
  return entry.base_url === undefined ? {} : { 'x-api-key': key };
}

/** `fetch` with a token. A refused token is replaced once: it may have been withdrawn before its end. */
function authorized(send: typeof fetch, tokens: BearerTokens): typeof fetch {
  const attempt = async (...[url, init]: Parameters<typeof fetch>): Promise<{ token: string; response: Response }> => {
    const token = await tokens.get();
    const headers = new Headers(init?.headers);
    headers.delete('x-api-key');
    headers.set('authorization', `Bearer ${token}`);
    return { token, response: await send(url, { ...init, headers }) };
  };
  return async (url, init) => {
    const { token, response } = await attempt(url, init);
    if (response.status !== 401) return response;
    // Ends the answer: what follows its first part is not read.
    for await (const _part of response.body ?? []) break;
    tokens.renew(token);
    return (await attempt(url, init)).response;
  };
}
