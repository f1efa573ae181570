import { ApplicationFailure } from '@temporalio/common';
import { openModelApi, type ModelApi } from '../../src/models/api.js';
import { isApiError } from '../../src/models/api-error.js';
import { reportedCount } from '../../src/models/content.js';
import type { ModelRequest } from '../../src/models/request.js';
import { apiKeyOf, type ModelCatalogue, type ModelEntry } from '../../src/models/catalogue.js';
import { priceOf, type CalledModel } from '../../src/models/price.js';
import { googleTokens } from '../../src/platform/google-tokens.js';
import { Redactor } from '../../src/platform/redactor.js';
import type { SendRequest } from './send.js';
import { watchedFetch } from './watchdog.js';
import { ignored } from '../../src/platform/ignored.js';

export interface ModelClient {
  entry: ModelEntry;
  called: CalledModel;
  api: Pick<ModelApi, 'messages'>;
  /** Redacts the keys and tokens of all models: a server may echo the request it received. */
  redactor: Redactor;
  /** Whether the server can count tokens; the first attempt shows it. */
  countsTokens: boolean;
  /**
   * Waits for the token of the next request, so that its time does not count as the model's. A failure shows in the
   * request.
   */
  authorize(): Promise<void>;
}

export class ModelClients {
  private constructor(private readonly clients: ReadonlyMap<string, ModelClient>) {}

  /** Opens the clients of all models. Nothing is sent. */
  static async open(catalogue: ModelCatalogue, env: NodeJS.ProcessEnv, send: SendRequest): Promise<ModelClients> {
    const options = {
      send: watchedFetch(send),
      google: googleTokens(),
      // Temporal retries, so that retries are visible in its history.
      maxRetries: 0,
      // A call is bounded by the idle timeout, not by a total time.
      timeout: 24 * 3600 * 1000,
    };
    const entries = [...catalogue.values()];
    const apis = await Promise.all(entries.map((entry) => openModelApi(entry, env, options)));
    const secrets = new ModelSecrets(entries, apis, env);
    const clients = entries.map((entry, index): [string, ModelClient] => {
      const { messages, tokens } = apis[index]!;
      const client = {
        entry,
        called: { id: entry.id, price: priceOf(entry) },
        api: { messages },
        get redactor() {
          return secrets.redactor;
        },
        countsTokens: true,
        async authorize() {
          await tokens?.get().catch(ignored('the request for a token shows the error'));
        },
      };
      return [entry.id, client];
    });
    return new ModelClients(new Map(clients));
  }

  /** Returns the client of a model, or undefined if the model was removed from the catalogue. */
  get(modelId: string): ModelClient | undefined {
    return this.clients.get(modelId);
  }

  /** @throws ApplicationFailure `model_error` if the session's model is no longer in the catalogue */
  getOrFail(modelId: string): ModelClient {
    const client = this.get(modelId);
    if (client !== undefined) return client;
    throw ApplicationFailure.nonRetryable('The model is no longer in the catalogue.', 'model_error');
  }
}

class ModelSecrets {
  readonly #keys: string[];
  #tokens: string[] = [];
  #redactor: Redactor;

  constructor(
    entries: ModelEntry[],
    private readonly apis: ModelApi[],
    env: NodeJS.ProcessEnv,
  ) {
    this.#keys = [...new Set(entries.flatMap((entry) => apiKeyOf(entry, env) ?? []))];
    this.#redactor = new Redactor(this.#keys);
  }

  get redactor(): Redactor {
    const tokens = [...new Set(this.apis.flatMap((api) => api.tokens?.remembered ?? []))];
    if (tokens.length !== this.#tokens.length || tokens.some((token, index) => token !== this.#tokens[index])) {
      this.#tokens = tokens;
      this.#redactor = new Redactor([...this.#keys, ...tokens]);
    }
    return this.#redactor;
  }
}

/** The count is optional: a server that counts slowly must not delay the turn. */
const COUNT_TIMEOUT_MS = 10_000;

/** Asks the model's API for a request's input tokens. Returns null if the API cannot count. */
export async function countTokens(
  model: ModelClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<number | null> {
  if (!model.countsTokens) return null;
  const { max_tokens: _, ...counted } = request;
  try {
    const { input_tokens } = await model.api.messages.countTokens(counted, { signal, timeout: COUNT_TIMEOUT_MS });
    return reportedCount(input_tokens) || null;
  } catch (error) {
    signal.throwIfAborted();
    // A server without this operation is not asked again. Other errors will show up in the call itself.
    if (isApiError(error) && (error.status === 404 || error.status === 405 || error.status === 501)) {
      model.countsTokens = false;
    }
    return null;
  }
}
