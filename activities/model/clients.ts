import Anthropic from '@anthropic-ai/sdk';
import { ApplicationFailure } from '@temporalio/common';
import { apiKeyOf, type ModelCatalogue, type ModelEntry } from '../../src/models/catalogue.js';
import { Redactor } from '../../src/platform/text.js';
import type { SendRequest } from './send.js';
import { watchedFetch } from './watchdog.js';

export interface ModelClient {
  entry: ModelEntry;
  api: Anthropic;
  /** Replaces the keys of all models: a server may repeat what it was sent. */
  redactor: Redactor;
  /** Whether the server counts tokens; found out at the first try. */
  countsTokens: boolean;
}

/** The models of the catalogue with a client each. */
export class ModelClients {
  #clients = new Map<string, ModelClient>();
  readonly #redactor: Redactor;

  constructor(
    private readonly catalogue: ModelCatalogue,
    private readonly env: NodeJS.ProcessEnv,
    private readonly send: SendRequest,
  ) {
    const keys = [...catalogue.values()].flatMap((entry) => apiKeyOf(entry, env) ?? []);
    this.#redactor = new Redactor([...new Set(keys)]);
  }

  /** The client of a model; undefined when the catalogue has lost it since the session was made. */
  get(modelId: string): ModelClient | undefined {
    const known = this.#clients.get(modelId);
    const entry = this.catalogue.get(modelId);
    if (known !== undefined || entry === undefined) return known;
    const key = apiKeyOf(entry, this.env);
    const { send } = this;
    const client: ModelClient = {
      entry,
      redactor: this.#redactor,
      api: new Anthropic({
        // Something must be given, or the SDK takes what it finds in the environment.
        apiKey: key ?? 'none',
        authToken: null,
        defaultHeaders: keyHeaders(entry, key),
        // Without one it is Anthropic's own, or what ANTHROPIC_BASE_URL says: the catalogue was listed there, too.
        ...(entry.base_url !== undefined && { baseURL: entry.base_url }),
        fetch: watchedFetch(send),
        // Temporal retries, visibly.
        maxRetries: 0,
        // It would print what an answer that it cannot read says.
        logLevel: 'off',
        // The inactivity watchdog bounds a call, not its length.
        timeout: 24 * 3600 * 1000,
      }),
      countsTokens: true,
    };
    this.#clients.set(modelId, client);
    return client;
  }

  /** @throws ApplicationFailure `model_error` when the catalogue has lost the session's model */
  getOrFail(modelId: string): ModelClient {
    const client = this.get(modelId);
    if (client !== undefined) return client;
    throw ApplicationFailure.nonRetryable('The catalogue has no such model any more.', 'model_error');
  }
}

/**
 * The SDK sends the key as a bearer token; many servers that speak the Messages API look for it in `x-api-key`, as its
 * documents say. A server that asks for no key gets neither.
 */
function keyHeaders(entry: ModelEntry, key: string | undefined): Record<string, string | null> {
  if (key === undefined) return { Authorization: null };
  return entry.base_url === undefined ? {} : { 'x-api-key': key };
}
