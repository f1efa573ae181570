import type { ModelEntry } from '../src/models/catalogue.js';
import { answer } from './fake-model/rules.js';
import { failure, startScriptedModel, text, thinking, toolUse, wait, type Handler } from './fake-model/server.js';

export interface LocalModel {
  /** The `baseURL` for the Anthropic SDK, without `/v1`. */
  url: string;
  /** Entries of MODELS_FILE that reach this model. */
  models: ModelEntry[];
  /** Closes every connection, also those with an answer in progress. */
  close(): Promise<void>;
}

const MODEL = { id: 'local-rules', display_name: 'Local rules (not an LLM)' };
const CONTEXT_WINDOW = 200_000;
const MAX_OUTPUT_TOKENS = 64_000;
/** Made up: nothing is paid. So costs, budgets and usage can be tried with `npm start` alone. */
const PRICE = { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const DEFAULT_WORDS_PER_SECOND = 40;

/** Starts the model of `npm start`, which answers by rules. `wordsPerSecond` 0: without pauses. */
export async function startLocalModel({
  wordsPerSecond = DEFAULT_WORDS_PER_SECOND,
}: { wordsPerSecond?: number } = {}): Promise<LocalModel> {
  const model = await startScriptedModel({
    validate: false,
    record: false,
    contextWindow: CONTEXT_WINDOW,
    models: [{ ...MODEL, context: CONTEXT_WINDOW, output: MAX_OUTPUT_TOKENS }],
  });
  model.script(byRules(wordsPerSecond));
  const sizes = { context_window: CONTEXT_WINDOW, max_output_tokens: MAX_OUTPUT_TOKENS, supports_thinking: true };
  return {
    url: model.url,
    models: [{ ...MODEL, model: MODEL.id, base_url: model.url, ...sizes, price: PRICE }],
    close: () => model.close(),
  };
}

function byRules(usualWordsPerSecond: number): Handler {
  return ({ body, userText, step }) => {
    const found = answer({ text: userText, step, request: body });
    if ('error' in found) {
      const headers: Record<string, string> = found.error === 'rate_limit_error' ? { 'retry-after': '1' } : {};
      return failure(found.error, { message: `You asked the local model to fail with ${found.error}.`, headers });
    }
    const wordsPerSecond = found.wordsPerSecond ?? usualWordsPerSecond;
    const pacing = wordsPerSecond === 0 ? {} : { every: 1000 / wordsPerSecond };
    const thinks = body.thinking !== undefined && body.thinking.type !== 'disabled';
    return [
      ...(found.waitMs === undefined ? [] : [wait(found.waitMs)]),
      ...(thinks ? [thinking(words(found.thinking), pacing)] : []),
      text(words(found.text), pacing),
      ...(found.calls ?? []).map(({ name, input }) => toolUse(name, input, pacing)),
    ];
  };
}

function* words(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s*\S+/g)) yield word;
}
