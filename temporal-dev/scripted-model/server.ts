import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { position } from './position.js';
import { withoutMedia } from './without-media.js';
import { MessageWriter } from './writer.js';
import { measure, PromptCache, type Prompt } from './prompt.js';
import {
  ModelFailure,
  modelsPage,
  newId,
  readJson,
  sendFailure,
  sendJson,
  signThinking,
  type ModelRequest,
} from './wire.js';
import { play } from './player.js';
import { Gate, normalise, type HttpReply, type MessageReply, type Reply } from './replies.js';
import { Script, type Handler, type Match, type ReceivedRequest } from './script.js';
import { validate } from './validator.js';

export * from './replies.js';
export { steps, type Handler, type Match, type ReceivedRequest } from './script.js';

/** How the scripted model counts and what it refuses. */
export interface ScriptedModelOptions {
  port?: number;
  /** Prompts over this are refused, and answers that would pass it stop. Default: 200,000 tokens. */
  contextWindow?: number;
  /** Prefixes under this are not cached. Default: 0. */
  minCacheTokens?: number;
  /** False: accepts what the real API would refuse, but for its length. Default: true. */
  validate?: boolean;
  /** False: keeps no requests, and drops their media while they arrive. Default: true. */
  record?: boolean;
  /** What GET /v1/models lists. */
  models?: Parameters<typeof modelsPage>[0];
}

/** Starts a Messages API that answers as it is scripted, and refuses what the real API would refuse. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const model = new ScriptedModel(options);
  await model.listen(options.port ?? 0);
  return model;
}

/** A running scripted model. */
export class ScriptedModel {
  /** As the Anthropic SDK takes it for `baseURL`: without `/v1`. */
  url = '';
  /** Every request to POST /v1/messages, in order of arrival, refused ones included. */
  readonly requests: ReceivedRequest[] = [];
  /** The number of requests to count_tokens. */
  counted = 0;

  readonly #server: Server;
  readonly #script = new Script();
  #cache: PromptCache;
  readonly #contextWindow: number;
  readonly #gates = new Set<Gate>();
  readonly #calledAfterThinking = new Set<string>();
  readonly #errors: Error[] = [];
  #waiting: { index: number; resolve: (request: ReceivedRequest) => void; reject: (error: Error) => void }[] = [];
  #closing = false;

  /** @internal Use `startScriptedModel`. */
  constructor(private readonly options: ScriptedModelOptions) {
    this.#cache = new PromptCache(options.minCacheTokens);
    this.#contextWindow = options.contextWindow ?? 200_000;
    this.#server = createServer((incoming, response) => {
      const requestId = newId('req');
      this.#serve(incoming, response, requestId).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendFailure(response, error, requestId);
      });
    });
  }

  /** @internal */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The requests that were refused: `expect(model.refused).to.be.empty`. */
  get refused(): ReceivedRequest[] {
    return this.requests.filter((request) => request.refused !== undefined);
  }

  /** The request of that number, from 0; waits until it comes. */
  request(index: number): Promise<ReceivedRequest> {
    const request = this.requests[index];
    if (request) return Promise.resolve(request);
    return new Promise((resolve, reject) => this.#waiting.push({ index, resolve, reject }));
  }

  /** Queues replies for requests that no route takes; each is given once. */
  reply(...replies: Reply[]): void {
    this.#script.queue(replies);
  }

  /** Answers what no route and no queued reply takes. Default: the text "ok". */
  script(handler: Handler): void {
    this.#script.default(handler);
  }

  /**
   * Routes requests by the text of the user, or by a predicate; the latest route that matches is taken. Several
   * replies are given one after the other, the last one again and again.
   */
  on(match: Match, ...replies: [Reply | Handler, ...(Reply | Handler)[]]): void {
    this.#script.route(match, replies);
  }

  /** A gate for `wait`. `close` opens those that the test did not. */
  gate(): Gate {
    const gate = new Gate();
    this.#gates.add(gate);
    return gate;
  }

  /** Forgets routes, queue, script and requests; keeps the prompt cache. */
  reset(): void {
    this.#script.reset();
    this.requests.length = 0;
    this.counted = 0;
  }

  /** Forgets everything, for the next test. Rejects with the first error that a handler threw. */
  async renew(): Promise<void> {
    this.reset();
    this.#giveUp();
    this.#cache = new PromptCache(this.options.minCacheTokens);
    this.#calledAfterThinking.clear();
    this.#throwError();
  }

  /** Ends every connection. Rejects with the first error that a handler threw. */
  async close(): Promise<void> {
    this.#closing = true;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    this.#giveUp();
    this.#throwError();
  }

  #throwError(): void {
    const [error] = this.#errors.splice(0);
    if (error !== undefined) throw error;
  }

  /** Lets go of those who wait: a test for a request, a reply for a gate. */
  #giveUp(): void {
    for (const { index, reject } of this.#waiting)
      reject(new Error(`The test ended before request ${index} came to the model`));
    for (const gate of this.#gates) gate.open();
    this.#waiting = [];
    this.#gates.clear();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const path = (incoming.url ?? '').split('?', 1)[0];
    switch (`${incoming.method} ${path}`) {
      case 'POST /v1/messages':
        return this.#answer(incoming, response, requestId);
      case 'POST /v1/messages/count_tokens': {
        this.counted += 1;
        const body = this.#validated(await this.#read(incoming), true);
        return sendJson(response, 200, JSON.stringify({ input_tokens: measure(body).tokens }));
      }
      case 'GET /v1/models':
        return sendJson(response, 200, modelsPage(this.options.models ?? [this.#itself()]));
      default:
        throw new ModelFailure(
          'not_found_error',
          `${incoming.method} ${path} is not an operation of the scripted model`,
        );
    }
  }

  #itself(): { id: string; display_name: string; context: number; output: number } {
    return { id: 'scripted', display_name: 'Scripted', context: this.#contextWindow, output: 64_000 };
  }

  #read(incoming: IncomingMessage): Promise<unknown> {
    return readJson(this.options.record === false ? withoutMedia(incoming) : incoming);
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const body = await this.#read(incoming);
    let writer: MessageWriter | undefined;
    const request = this.#receive(incoming, response, body as ModelRequest, () => writer?.wasCut ?? false);
    const prompt = this.#accept(request);
    try {
      const reply = normalise(await this.#script.replyTo(request));
      if (reply instanceof ModelFailure) throw reply;
      if (reply.kind === 'http') return sendHttp(response, reply);
      const limit = this.#limit(request.body, prompt);
      writer = new MessageWriter(response, {
        requestId,
        model: request.body.model,
        stream: request.body.stream === true,
        usage: this.#cache.use(prompt),
        override: reply.usage,
        limit,
      });
      await this.#play(reply, writer, limit.reason, request);
    } catch (error) {
      if (error instanceof ModelFailure) throw error;
      this.#errors.push(error as Error);
      const message = `The script failed: ${(error as Error).message}`;
      throw new ModelFailure('invalid_request_error', message, { 'x-should-retry': 'false' });
    }
  }

  async #play(
    reply: MessageReply,
    writer: MessageWriter,
    reason: 'max_tokens' | 'model_context_window_exceeded',
    request: ReceivedRequest,
  ): Promise<void> {
    await play(reply, writer, reason, {
      sent: () => request.sentAt.push(performance.now()),
      calling: (id, afterThinking) => afterThinking && this.#calledAfterThinking.add(id),
    });
  }

  #limit(
    { max_tokens: most }: ModelRequest,
    { tokens }: Prompt,
  ): { tokens: number; reason: 'max_tokens' | 'model_context_window_exceeded' } {
    const left = this.#contextWindow - tokens;
    return most <= left
      ? { tokens: most, reason: 'max_tokens' }
      : { tokens: left, reason: 'model_context_window_exceeded' };
  }

  #receive(
    { headers }: IncomingMessage,
    response: ServerResponse,
    body: ModelRequest,
    wasCut: () => boolean,
  ): ReceivedRequest {
    const request: ReceivedRequest = {
      body,
      headers,
      receivedAt: performance.now(),
      ...where(body),
      sentAt: [],
      abortedAt: null,
      aborted: new Promise((resolve) => {
        response.once('close', () => {
          if (response.writableFinished || wasCut() || this.#closing) return;
          request.abortedAt = performance.now();
          resolve(request.abortedAt);
        });
      }),
      finished: new Promise((resolve) => response.once('close', resolve)),
    };
    if (this.options.record === false) return request;
    const index = this.requests.push(request) - 1;
    for (const waiting of this.#waiting) if (waiting.index === index) waiting.resolve(request);
    this.#waiting = this.#waiting.filter((waiting) => waiting.index !== index);
    return request;
  }

  #accept(request: ReceivedRequest): Prompt {
    try {
      const prompt = measure(this.#validated(request.body, false));
      if (prompt.tokens <= this.#contextWindow) return prompt;
      const message = `prompt is too long: ${prompt.tokens} tokens > ${this.#contextWindow} maximum`;
      throw new ModelFailure('invalid_request_error', message);
    } catch (error) {
      request.refused = (error as Error).message;
      throw error;
    }
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

/** A body that will be refused has no position. */
function where(body: unknown): { userText: string; step: number } {
  try {
    return position((body as ModelRequest).messages);
  } catch {
    return { userText: '', step: 0 };
  }
}

function sendHttp(response: ServerResponse, { status, headers, body }: HttpReply): void {
  response.writeHead(status, headers).end(body);
}
