import Anthropic from '@anthropic-ai/sdk';
import { apiKeyOf, type ModelCatalogue, type ModelEntry } from '../../src/models/catalogue.js';

export interface ModelClient {
  entry: ModelEntry;
  api: Anthropic;
  /** Whether the server counts tokens; found out at the first try. */
  countsTokens: boolean;
}

/** The models of the catalogue with a client each. */
export class ModelClients {
  #clients = new Map<string, ModelClient>();

  constructor(
    private readonly catalogue: ModelCatalogue,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** The client of a model; undefined when the catalogue has lost it since the session was made. */
  get(modelId: string): ModelClient | undefined {
    const known = this.#clients.get(modelId);
    const entry = this.catalogue.get(modelId);
    if (known !== undefined || entry === undefined) return known;
    const client: ModelClient = {
      entry,
      api: new Anthropic({
        // A server without a key must not get the one that the SDK would find in the environment.
        apiKey: apiKeyOf(entry, this.env) ?? 'none',
        authToken: null,
        baseURL: entry.base_url ?? null,
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
}
