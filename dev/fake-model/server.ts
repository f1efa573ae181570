import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RequestRecord } from './request-record.js';
import { withoutMedia } from './without-media.js';
import { MessageWriter } from './writer.js';
import { Admission, type AdmissionOptions } from './admission.js';
import { ModelFailure, modelsPage, newId, readJson, sendFailure, sendJson, type ModelRequest } from './wire.js';
import { play } from './player.js';
import { Gate, normalise, type Reply } from './replies.js';
import { Script, type Handler, type Match, type ReceivedRequest } from './script.js';

export * from './replies.js';
export { steps, type Handler, type Match, type ReceivedRequest } from './script.js';

const MODEL = { id: 'scripted', display_name: 'Scripted', output: 64_000 };

export interface ScriptedModelOptions extends AdmissionOptions {
  /** False: keeps no requests, and drops their media while they arrive. Default: true. */
  record?: boolean;
  /** False: does not know count_tokens, as many servers. Default: true. */
  countsTokens?: boolean;
  /** What GET /v1/models lists. */
  models?: Parameters<typeof modelsPage>[0];
}

/** Starts a Messages API that answers as it is scripted, and refuses what the real API would refuse. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const model = new ScriptedModel(options);
  await model.listen();
  return model;
}

export class ScriptedModel {
  /** As the Anthropic SDK takes it for `baseURL`: without `/v1`. */
  url = '';
  /** The number of requests to count_tokens. */
  counted = 0;

  readonly #server: Server;
  readonly #script = new Script();
  readonly #record: RequestRecord;
  readonly #admission: Admission;
  readonly #gates = new Set<Gate>();
  readonly #errors: Error[] = [];
  #closing = false;

  /** @internal Use `startScriptedModel`. */
  constructor(private readonly options: ScriptedModelOptions) {
    this.#admission = new Admission(options);
    this.#record = new RequestRecord(options.record !== false);
    this.#server = createServer((incoming, response) => {
      const requestId = newId('req');
      this.#serve(incoming, response, requestId).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendFailure(response, error, requestId);
      });
    });
  }

  /** @internal */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every request to POST /v1/messages, in order of arrival, refused ones included. */
  get requests(): ReceivedRequest[] {
    return this.#record.requests;
  }

  /** The requests that were refused: `expect(model.refused).to.be.empty`. */
  get refused(): ReceivedRequest[] {
    return this.requests.filter((request) => request.refused !== undefined);
  }

  /** The request of that number, from 0; waits until it comes. */
  request(index: number): Promise<ReceivedRequest> {
    return this.#record.at(index);
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
    this.#admission.forget();
    this.#endTest();
  }

  /** Ends every connection. Rejects with the first error that a handler threw. */
  async close(): Promise<void> {
    this.#closing = true;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    this.#endTest();
  }

  /** Lets go of those who wait: a test for a request, a reply for a gate. Throws the first error of a handler. */
  #endTest(): void {
    this.#record.giveUp();
    for (const gate of this.#gates) gate.open();
    this.#gates.clear();
    const [error] = this.#errors.splice(0);
    if (error !== undefined) throw error;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const path = (incoming.url ?? '').split('?', 1)[0];
    switch (`${incoming.method} ${path}`) {
      case 'POST /v1/messages':
        return this.#answer(incoming, response, requestId);
      case 'POST /v1/messages/count_tokens': {
        if (this.options.countsTokens === false) throw new ModelFailure('not_found_error', 'Not found');
        this.counted += 1;
        const input_tokens = this.#admission.count(await this.#read(incoming));
        return sendJson(response, 200, JSON.stringify({ input_tokens }));
      }
      case 'GET /v1/models': {
        const { models = [{ ...MODEL, context: this.#admission.contextWindow }] } = this.options;
        return sendJson(response, 200, modelsPage(models));
      }
      default:
        throw new ModelFailure(
          'not_found_error',
          `${incoming.method} ${path} is not an operation of the scripted model`,
        );
    }
  }

  #read(incoming: IncomingMessage): Promise<unknown> {
    return readJson(this.options.record === false ? withoutMedia(incoming) : incoming);
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const body = await this.#read(incoming);
    let writer: MessageWriter | undefined;
    const isOurs = (): boolean => this.#closing || writer?.wasCut === true;
    const request = this.#record.add(incoming, response, body as ModelRequest, isOurs);
    const prompt = this.#admission.accept(request);
    try {
      const reply = normalise(await this.#script.replyTo(request));
      if (reply instanceof ModelFailure) throw reply;
      if (reply.kind === 'http') return void response.writeHead(reply.status, reply.headers).end(reply.body);
      const limit = this.#admission.limit(request.body, prompt);
      writer = new MessageWriter(response, {
        requestId,
        model: request.body.model,
        stream: request.body.stream === true,
        usage: this.#admission.usage(prompt),
        override: reply.usage,
        limit,
      });
      await play(reply, writer, limit.reason, {
        sent: () => request.sentAt.push(performance.now()),
        calling: (id, afterThinking) => afterThinking && this.#admission.calledAfterThinking(id),
      });
    } catch (error) {
      if (error instanceof ModelFailure) throw error;
      this.#errors.push(error as Error);
      const message = `The script failed: ${(error as Error).message}`;
      throw new ModelFailure('invalid_request_error', message, { 'x-should-retry': 'false' });
    }
  }
}
