import type { ServerResponse } from 'node:http';
import { createHmac, randomBytes } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';
import type { PromptUsage } from './prompt.js';

/** The Messages API as bytes, so that a client cannot tell the scripted model from the real one. */

/** A parsed body of POST /v1/messages. `stream` may be true, false or missing. */
export type ModelRequest = Anthropic.MessageCreateParams;

/** How a message can end. */
export type StopReason = Anthropic.StopReason;

/** The status that the real API sends with each error type. */
export const ERROR_STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

/** The `type` of an error: `overloaded_error`, `rate_limit_error`, … */
export type ModelErrorType = keyof typeof ERROR_STATUS;

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A failure that ends a request with the API's error envelope. */
export class ModelFailure extends Error {
  constructor(
    readonly type: ModelErrorType,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

/** A fresh id in the API's form: `newId('msg')` is `msg_01…`. */
export const newId = (prefix: 'msg' | 'toolu' | 'req'): string => `${prefix}_01${randomBytes(12).toString('hex')}`;

/** `{type: 'error', error: {type, message}, request_id}`: the body of a failed request and of an `error` frame. */
export const errorBody = (type: string, message: string, requestId: string): string =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId });

const SIGNING_KEY = 'the signatures of a model without secrets';

/** The signature of a thinking block. The same in every process, so that a restart does not void a conversation. */
export const signThinking = (thinking: string): string =>
  createHmac('sha256', SIGNING_KEY).update(thinking).digest('base64');

/** Reads a JSON body of at most 32 MiB; throws the API's own failures. */
export async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new ModelFailure('request_too_large', 'Request exceeds the maximum size');
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (error) {
    throw new ModelFailure('invalid_request_error', `The request body is not valid JSON: ${(error as Error).message}`);
  }
}

/** Sends one JSON body, an error's envelope included. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

/** Sends a failure in the API's envelope; anything that is no `ModelFailure` is an `api_error`. */
export function sendFailure(response: ServerResponse, error: unknown, requestId: string): void {
  const failure = error instanceof ModelFailure ? error : new ModelFailure('api_error', (error as Error).message);
  // What is left of a refused body would otherwise be read as the next request of the connection.
  if (!response.req.complete) response.setHeader('connection', 'close');
  sendJson(response, ERROR_STATUS[failure.type], errorBody(failure.type, failure.message, requestId), {
    'request-id': requestId,
    ...failure.headers,
  });
}

/** The page that GET /v1/models answers. */
export function modelsPage(models: { id: string; display_name: string; context: number; output: number }[]): string {
  const data = models.map(({ id, display_name, context, output }) => ({
    type: 'model',
    id,
    display_name,
    created_at: '2026-01-01T00:00:00Z',
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
    capabilities: null,
    max_input_tokens: context,
    max_tokens: output,
  }));
  return JSON.stringify({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null });
}

/** The token counts of a message, as far as a reply wants others than those counted. */
export type UsageOverride = Partial<PromptUsage & { output_tokens: number }>;
