import { measure, PromptCache, type Prompt, type PromptUsage } from './prompt.js';
import type { ReceivedRequest } from './script.js';
import { validate } from './validator.js';
import { ModelFailure, signThinking, type ModelRequest, type StopReason } from './wire.js';

/** How the scripted model counts and what it refuses. */
export interface AdmissionOptions {
  /** Prompts over this are refused, and answers that would pass it stop. Default: 200,000 tokens. */
  contextWindow?: number;
  /** False: accepts what the real API would refuse, but for its length. Default: true. */
  validate?: boolean;
}

/** Counts prompts, and refuses those that the real API would refuse. */
export class Admission {
  readonly contextWindow: number;
  #cache: PromptCache;
  readonly #calledAfterThinking = new Set<string>();

  constructor(private readonly options: AdmissionOptions) {
    this.contextWindow = options.contextWindow ?? 200_000;
    this.#cache = new PromptCache();
  }

  count(body: unknown): number {
    return measure(this.#validated(body, true)).tokens;
  }

  /** The prompt of a request. Throws the API's failure, and notes it in the request, if it is refused. */
  accept(request: ReceivedRequest): Prompt {
    try {
      const prompt = measure(this.#validated(request.body, false));
      if (prompt.tokens <= this.contextWindow) return prompt;
      const message = `prompt is too long: ${prompt.tokens} tokens > ${this.contextWindow} maximum`;
      throw new ModelFailure('invalid_request_error', message);
    } catch (error) {
      request.refused = (error as Error).message;
      throw error;
    }
  }

  /** Output tokens after which the answer ends by itself, and why. */
  limit({ max_tokens: most }: ModelRequest, { tokens }: Prompt): { tokens: number; reason: StopReason } {
    const left = this.contextWindow - tokens;
    return most <= left
      ? { tokens: most, reason: 'max_tokens' }
      : { tokens: left, reason: 'model_context_window_exceeded' };
  }

  usage(prompt: Prompt): PromptUsage {
    return this.#cache.use(prompt);
  }

  /** From now on a conversation with this call must keep the thinking before it. */
  calledAfterThinking(id: string): void {
    this.#calledAfterThinking.add(id);
  }

  forget(): void {
    this.#cache = new PromptCache();
    this.#calledAfterThinking.clear();
  }

  #validated(body: unknown, counting: boolean): ModelRequest {
    if (this.options.validate === false) return body as ModelRequest;
    const issued = {
      signed: (thinking: string, signature: string) => signThinking(thinking) === signature,
      calledAfterThinking: (id: string) => this.#calledAfterThinking.has(id),
    };
    return validate(body, issued, counting);
  }
}
