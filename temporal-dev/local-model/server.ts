import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MessageWriter } from './message-writer.js';
import { measure, PromptCache, type Prompt } from './prompt.js';
import { answer, type Answer, type AnswerBlock } from './rules.js';
import { ModelFailure, modelsPage, newId, readJson, sendFailure, sendJson, type ModelRequest } from './wire.js';

/** How to start the local model. `port` 0 or missing: a free one. `wordsPerSecond` 0: without pause. */
export interface LocalModelOptions {
  port?: number;
  host?: string;
  wordsPerSecond?: number;
}

/** A running local model. */
export interface LocalModel {
  /** As the Anthropic SDK takes it for `baseURL`: without `/v1`. */
  url: string;
  /** Entries of MODELS_FILE that reach this model. */
  models: LocalModelEntry[];
  /** Ends every connection, answers in progress included. */
  close(): Promise<void>;
}

/** One entry of MODELS_FILE. */
export interface LocalModelEntry {
  id: string;
  display_name: string;
  model: string;
  base_url: string;
  context_window: number;
  max_output_tokens: number;
  supports_thinking: boolean;
}

/** What the local model calls itself in `GET /v1/models`. */
export const LOCAL_MODEL = {
  id: 'local-rules',
  display_name: 'Local rules (not an LLM)',
  context: 200_000,
  output: 64_000,
} as const;

const DEFAULT_WORDS_PER_SECOND = 40;

interface State {
  wordsPerSecond: number;
  cache: PromptCache;
  /** Failures already given, by prompt: "fail once" is about the same prompt tried again. */
  failures: Map<string, number>;
}

/** Starts the local model: a server of the Messages API whose answers come from `rules`. */
export async function startLocalModel(options: LocalModelOptions = {}): Promise<LocalModel> {
  const { port = 0, host = '127.0.0.1', wordsPerSecond = DEFAULT_WORDS_PER_SECOND } = options;
  const state: State = { wordsPerSecond, cache: new PromptCache(), failures: new Map() };
  const server = createServer((request, response) => {
    const requestId = newId('req');
    handle(state, request, response, requestId).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendFailure(response, error, requestId);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    models: [
      {
        id: LOCAL_MODEL.id,
        display_name: LOCAL_MODEL.display_name,
        model: LOCAL_MODEL.id,
        base_url: url,
        context_window: LOCAL_MODEL.context,
        max_output_tokens: LOCAL_MODEL.output,
        supports_thinking: true,
      },
    ],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://local');
  switch (`${request.method} ${pathname}`) {
    case 'POST /v1/messages':
      return reply(state, checked(await readJson(request)), response, requestId);
    case 'POST /v1/messages/count_tokens': {
      const { tokens } = measure(checked({ max_tokens: 1, ...((await readJson(request)) as object) }));
      return sendJson(response, 200, JSON.stringify({ input_tokens: tokens }));
    }
    case 'GET /v1/models':
      return sendJson(response, 200, modelsPage([LOCAL_MODEL]));
    default:
      throw new ModelFailure('not_found_error', `${request.method} ${pathname} is not an operation of the local model`);
  }
}

/** The few checks without which the rules would fall over; the validator of the tests has the API's own. */
function checked(body: unknown): ModelRequest {
  const { model, max_tokens, messages } = (body ?? {}) as Partial<ModelRequest>;
  const complain = (message: string): never => {
    throw new ModelFailure('invalid_request_error', message);
  };
  if (typeof model !== 'string') complain('model: Field required');
  if (typeof max_tokens !== 'number') complain('max_tokens: Field required');
  if (!Array.isArray(messages) || messages.length === 0) complain('messages: at least one message is required');
  if (messages?.[0]?.role !== 'user') complain('messages: first message must use the "user" role');
  return body as ModelRequest;
}

async function reply(state: State, body: ModelRequest, response: ServerResponse, requestId: string): Promise<void> {
  const prompt = measure(body);
  if (prompt.tokens > LOCAL_MODEL.context) {
    const message = `prompt is too long: ${prompt.tokens} tokens > ${LOCAL_MODEL.context} maximum`;
    throw new ModelFailure('invalid_request_error', message);
  }
  const said = answer(body);
  if (said.kind === 'hang') return;
  if (said.kind === 'failure' && failsAgain(state, body, said.times)) throw said.failure;
  const writer = begin(state, body, prompt, response, requestId);
  if (said.kind === 'broken') return breakOff(state, writer, said);
  await speak(state, body, writer, said.kind === 'message' ? said : recovered());
}

const recovered = (): Extract<Answer, { kind: 'message' }> => ({
  kind: 'message',
  thinking: 'I have failed as often as I was asked to.',
  blocks: [{ type: 'text', text: 'I am the local rule-based model, and I have failed as often as you asked me to.' }],
});

function failsAgain(state: State, body: ModelRequest, times: number): boolean {
  if (times === Infinity) return true;
  const key = JSON.stringify(body.messages);
  const before = state.failures.get(key) ?? 0;
  if (before < times) state.failures.set(key, before + 1);
  else state.failures.delete(key);
  return before < times;
}

function begin(
  state: State,
  body: ModelRequest,
  prompt: Prompt,
  response: ServerResponse,
  requestId: string,
): MessageWriter {
  return new MessageWriter(response, {
    requestId,
    model: body.model,
    stream: body.stream === true,
    usage: state.cache.use(prompt),
    limit: { tokens: body.max_tokens, reason: 'max_tokens' },
  });
}

async function speak(
  state: State,
  body: ModelRequest,
  writer: MessageWriter,
  said: Extract<Answer, { kind: 'message' }>,
): Promise<void> {
  const pace = said.wordsPerSecond ?? state.wordsPerSecond;
  const thinks = body.thinking?.type === 'enabled' || body.thinking?.type === 'adaptive';
  if (said.waitMs !== undefined) await writer.sleepUntil(performance.now() + said.waitMs);
  if (thinks) {
    const { display } = body.thinking as { display?: string };
    writer.open({ type: 'thinking' });
    if (!(await words(writer, display === 'omitted' ? '' : said.thinking, pace))) return writer.finish('max_tokens');
    writer.close();
  }
  for (const block of said.blocks) {
    const { head, body: text } = wireForm(block);
    writer.open(head);
    if (!(await words(writer, text, pace))) return writer.finish('max_tokens');
    writer.close();
  }
  writer.finish(said.blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn');
}

function wireForm(block: AnswerBlock): { head: Parameters<MessageWriter['open']>[0]; body: string } {
  if (block.type === 'text') return { head: { type: 'text' }, body: block.text };
  const { type, id, name } = block;
  return { head: { type, id, name }, body: JSON.stringify(block.input) };
}

/** Sends a text word by word. False when the message is full. */
async function words(writer: MessageWriter, text: string, perSecond: number): Promise<boolean> {
  const start = performance.now();
  let count = 0;
  for (const [word] of text.matchAll(/\s*\S+/g)) {
    if (writer.closed) return true;
    if (!writer.delta(word)) return false;
    count += 1;
    // From the start, not from the last word: timers that come late must not slow the whole text.
    if (perSecond > 0) await writer.sleepUntil(start + (count * 1000) / perSecond);
    else if (writer.full) await writer.flush();
  }
  return true;
}

async function breakOff(
  state: State,
  writer: MessageWriter,
  { text, ending }: Extract<Answer, { kind: 'broken' }>,
): Promise<void> {
  writer.open({ type: 'text' });
  await words(writer, text, state.wordsPerSecond);
  if (ending === 'error') return writer.fail('overloaded_error', 'You asked the local model to fail midway.');
  await (ending === 'cut' ? writer.cut() : writer.flush());
}
