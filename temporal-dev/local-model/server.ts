import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type Anthropic from '@anthropic-ai/sdk';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { answer, ERROR_STATUS } from './rules.js';
import { withoutMedia } from './without-media.js';
import { CHARS_PER_TOKEN, writeAnswer } from './write-answer.js';

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
const DEFAULT_WORDS_PER_SECOND = 40;

class ApiError extends Error {
  constructor(
    readonly type: keyof typeof ERROR_STATUS,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Starts a Messages API server that answers by rules and only streams. `wordsPerSecond` 0: without pauses.
 */
export async function startLocalModel({
  wordsPerSecond = DEFAULT_WORDS_PER_SECOND,
}: { wordsPerSecond?: number } = {}): Promise<LocalModel> {
  const server = createServer((request, response) => {
    handle(request, response, wordsPerSecond).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else sendError(response, error as Error);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sizes = { context_window: CONTEXT_WINDOW, max_output_tokens: MAX_OUTPUT_TOKENS, supports_thinking: true };
  return {
    url,
    models: [{ ...MODEL, model: MODEL.id, base_url: url, ...sizes }],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, wordsPerSecond: number): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://local');
  switch (`${request.method} ${pathname}`) {
    case 'POST /v1/messages':
      return reply((await json(withoutMedia(request))) as Anthropic.MessageCreateParams, response, wordsPerSecond);
    case 'POST /v1/messages/count_tokens':
      return sendJson(response, 200, { input_tokens: countTokens(await json(withoutMedia(request))) });
    case 'GET /v1/models':
      return sendJson(response, 200, { data: [{ type: 'model', ...MODEL }], has_more: false });
    default:
      throw new ApiError('not_found_error', `${request.method} ${pathname} is not an operation of the local model`);
  }
}

async function reply(
  body: Anthropic.MessageCreateParams,
  response: ServerResponse,
  wordsPerSecond: number,
): Promise<void> {
  if (body.stream !== true) throw new ApiError('invalid_request_error', 'Send `stream: true`: this model only streams');
  const inputTokens = countTokens(body);
  if (inputTokens > CONTEXT_WINDOW) {
    const message = `prompt is too long: ${inputTokens} tokens > ${CONTEXT_WINDOW} maximum`;
    throw new ApiError('invalid_request_error', message);
  }
  const found = answer(body);
  if ('error' in found) throw new ApiError(found.error, `You asked the local model to fail with ${found.error}.`);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (found.waitMs !== undefined) await sleep(found.waitMs, undefined, { signal: gone.signal });
  const thinks = body.thinking !== undefined && body.thinking.type !== 'disabled';
  const thinking = thinks ? [{ type: 'thinking' as const, thinking: found.thinking }] : [];
  await writeAnswer(response, [...thinking, ...found.blocks], {
    model: body.model,
    inputTokens,
    maxTokens: body.max_tokens,
    wordsPerSecond: found.wordsPerSecond ?? wordsPerSecond,
    signal: gone.signal,
  });
}

/** Estimates the tokens of a prompt, without its media: their base64 length says nothing about their tokens. */
function countTokens(body: unknown): number {
  return Math.ceil(JSON.stringify(body).length / CHARS_PER_TOKEN);
}

function sendError(response: ServerResponse, error: Error): void {
  const type = error instanceof ApiError ? error.type : 'api_error';
  if (type === 'rate_limit_error') response.setHeader('retry-after', '1');
  sendJson(response, ERROR_STATUS[type], { type: 'error', error: { type, message: error.message } });
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
