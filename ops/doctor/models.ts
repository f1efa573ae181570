import Anthropic, { APIConnectionError, APIError, AuthenticationError, NotFoundError } from '@anthropic-ai/sdk';
import { apiKeyOf, type ModelEntry } from '../../src/models/catalogue.js';
import { CheckError, type Check } from './check.js';

/** Checks that a model's key is set, and that its API answers, accepts the key and has the model. Costs nothing. */
export function modelCheck(entry: ModelEntry, env: NodeJS.ProcessEnv): Check {
  const variable = entry.api_key_env ?? 'ANTHROPIC_API_KEY';
  const address = entry.base_url ?? 'https://api.anthropic.com';
  const remedy = `Check that ${address} can be reached from here.`;
  return {
    part: `model ${entry.id}`,
    remedy,
    async run() {
      const key = apiKeyOf(entry, env);
      if (key === undefined && (entry.base_url === undefined || entry.api_key_env !== undefined)) {
        throw new CheckError(`has no key`, `Set ${variable}.`);
      }
      const api = new Anthropic({
        apiKey: key ?? 'none',
        authToken: null,
        baseURL: entry.base_url ?? null,
        maxRetries: 0,
        timeout: 10_000,
      });
      try {
        return await ask(api, entry.model);
      } catch (error) {
        if (error instanceof AuthenticationError)
          throw new CheckError(`${address} refuses the key`, `Check ${variable}.`);
        if (error instanceof APIConnectionError) throw new CheckError(`${address} cannot be reached`, remedy);
        if (error instanceof APIError) throw new CheckError(`${address} answers ${error.status ?? 'nothing'}`, remedy);
        throw error;
      }
    },
  };
}

/** Counting tokens checks key and model. Servers that cannot count are asked for their model list. */
async function ask(api: Anthropic, model: string): Promise<string> {
  try {
    await api.messages.countTokens({ model, messages: [{ role: 'user', content: 'x' }] });
    return `${model} answers`;
  } catch (error) {
    if (!(error instanceof NotFoundError) && !(error instanceof APIError && error.status === 405)) throw error;
  }
  const known: string[] = [];
  for await (const { id } of api.models.list({ limit: 100 })) known.push(id);
  if (known.includes(model)) return `${model} is listed`;
  throw new CheckError(`the API does not know ${model}`, 'Correct "model" of this entry in MODELS_FILE.');
}
