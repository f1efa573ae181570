import Anthropic from '@anthropic-ai/sdk';
import { ApplicationFailure } from '@temporalio/common';
import { apiKeyOf, type ModelCatalogue, type ModelEntry } from '../../src/models/catalogue.js';
import { Redactor } from '../../src/platform/text.js';
import type { SendRequest } from './send.js';
import { watchedFetch } from './watchdog.js';

export interface ModelClient {
  entry: ModelEntry;
  api: Anthropic;
  /** Redacts the keys of all models: a server may echo the request it received. */
  redactor: Redactor;
  /** Whether the server can count tokens; the first attempt shows it. */
  countsTokens: boolean;
}

/** The models of the catalogue, each with its client. */
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

  /** Returns the client of a model, or undefined if the model was removed from the catalogue. */
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
        // Without a value here the SDK would read the key from the environment.
        apiKey: key ?? 'none',
        authToken: null,
        defaultHeaders: keyHeaders(entry, key),
        // The default is ANTHROPIC_BASE_URL or Anthropic's own API. The catalogue was listed from the same address.
        ...(entry.base_url !== undefined && { baseURL: entry.base_url }),
        fetch: watchedFetch(send),
        // Temporal retries, so that retries are visible in its history.
        maxRetries: 0,
        // The SDK would log the content of an answer it cannot parse.
        logLevel: 'off',
        // A call is bounded by the idle timeout, not by a total time.
        timeout: 24 * 3600 * 1000,
      }),
      countsTokens: true,
    };
    this.#clients.set(modelId, client);
    return client;
  }

  /** @throws ApplicationFailure `model_error` if the session's model is no longer in the catalogue */
  getOrFail(modelId: string): ModelClient {
    const client = this.get(modelId);
    if (client !== undefined) return client;
    throw ApplicationFailure.nonRetryable('The model is no longer in the catalogue.', 'model_error');
  }
}

/**
 * The SDK sends the key as a bearer token. Many servers with the Messages API expect it in `x-api-key`, as Anthropic
 * documents. A server without a key gets neither header.
 */
function keyHeaders(entry: ModelEntry, key: string | undefined): Record<string, string | null> {
  if (key === undefined) return { Authorization: null };
  return entry.base_url === undefined ? {} : { 'x-api-key': key };
}
