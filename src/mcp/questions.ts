import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CancelledNotificationSchema,
  ElicitRequestSchema,
  ErrorCode,
  McpError,
  UrlElicitationRequiredError,
  type ElicitRequest,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject } from '../platform/json-object.js';
import { codePointLength } from '../platform/text.js';
import { cleanJson, type Cleaner } from './cleaner.js';

/** What a server may ask the person: MCP's elicitation (contract.md §11). */
export const QUESTION_CAPABILITIES = { elicitation: { form: {}, url: {} } };

/**
 * Answers a question. `requestId` is that of the server's request; `signal` aborts when the server withdraws it or the
 * connection closes. An McpError is the answer, too.
 */
export type QuestionHandler = (
  params: ElicitRequest['params'],
  request: { requestId: number | string; signal: AbortSignal },
) => Promise<ElicitResult>;

/** A question, cleaned. */
export type AskedQuestion = { message: string } & (
  | { mode: 'form'; requestedSchema: object; url: null }
  | { mode: 'url'; requestedSchema: null; url: string }
);

/** Open questions of a turn. */
export const MAX_OPEN_QUESTIONS = 20;
/** Questions of a turn, also those that are closed: a client may answer each at once. */
export const MAX_QUESTIONS = 100;
const MAX_MESSAGE_LENGTH = 10_000;
const MAX_SCHEMA_BYTES = 32 * 1024;
const MAX_URL_LENGTH = 2048;
/** Room for the message and the schema of a question. */
const MAX_QUESTION_BYTES = 128 * 1024;
const MAX_QUESTION_VALUES = 2500;
const METHOD = 'elicitation/create';

/**
 * Passes the questions of a server on, if they have MCP's form: a schema must be flat. A handler that is registered for the
 * method would answer others with an internal error.
 */
export function answerQuestions(client: Client, handler: QuestionHandler): void {
  const open = new Map<number | string, AbortController>();
  // The SDK's own handler ignores the cancellation of a request whose id is 0, which is mostly the first question.
  client.setNotificationHandler(CancelledNotificationSchema, ({ params: { requestId } }) => {
    if (requestId !== undefined) open.get(requestId)?.abort();
  });
  client.fallbackRequestHandler = async (request, { requestId, signal }) => {
    if (request.method !== METHOD) throw new McpError(ErrorCode.MethodNotFound, 'Method not found');
    const question = ElicitRequestSchema.safeParse(request);
    if (!question.success) throw invalid('the question does not have the form that MCP requires');
    const withdrawn = new AbortController();
    open.set(requestId, withdrawn);
    try {
      const ended = AbortSignal.any([signal, withdrawn.signal]);
      const result = await handler(question.data.params, { requestId, signal: ended });
      // A request that was cancelled gets no answer.
      return withdrawn.signal.aborted ? await new Promise<never>(() => undefined) : result;
    } finally {
      open.delete(requestId);
    }
  };
}

/**
 * What the SDK gets instead of a question that is too large, or so far from MCP's form that the SDK would need long to list
 * its errors: one without parameters, which it refuses at once. Null for any other message.
 */
export function refusableQuestion(message: unknown, size: { bytes: number; values: number }): object | null {
  const { method, id, params } = asJsonObject(message);
  if (!isQuestion(message)) return null;
  const isSmall = size.bytes <= MAX_QUESTION_BYTES && size.values <= MAX_QUESTION_VALUES;
  return isSmall && hasFlatProperties(params) ? null : { jsonrpc: '2.0', id, method };
}

export function isQuestion(message: unknown): boolean {
  const { method, id } = asJsonObject(message);
  return method === METHOD && id !== undefined;
}

function hasFlatProperties(params: unknown): boolean {
  const { requestedSchema } = asJsonObject(params);
  const { properties } = asJsonObject(requestedSchema);
  if (typeof properties !== 'object' || properties === null) return true;
  return Object.values(properties).every((property) => {
    const { type, properties: nested } = asJsonObject(property);
    return nested === undefined && typeof type === 'string' && TYPES.has(type);
  });
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array']);

/** Cleans a question and checks its limits. @throws McpError -32602, which the server gets */
export function readQuestion(params: ElicitRequest['params'], cleaner: Cleaner): AskedQuestion {
  if (codePointLength(params.message) > MAX_MESSAGE_LENGTH) {
    throw invalid(`message has more than ${MAX_MESSAGE_LENGTH} characters`);
  }
  const message = cleaner.clean(params.message);
  if (params.mode === 'url') {
    if (!isShownUrl(params.url) || cleaner.clean(params.url) !== params.url) {
      throw invalid(`url must be https, without user info, of at most ${MAX_URL_LENGTH} characters`);
    }
    return { message, mode: 'url', requestedSchema: null, url: params.url };
  }
  const { requestedSchema } = params;
  if (Buffer.byteLength(JSON.stringify(requestedSchema)) > MAX_SCHEMA_BYTES) {
    throw invalid('requestedSchema has more than 32 KiB');
  }
  return { message, mode: 'form', requestedSchema: cleanJson(requestedSchema, cleaner) as object, url: null };
}

/** True for an address that may be shown to a person. */
function isShownUrl(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAX_URL_LENGTH) return false;
  const url = URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === '';
}

const MAX_REQUIRED_URLS = 5;
const MAX_REQUIRED_TEXT = 1000;

/** Keeps the addresses of error -32042 that may be shown: a person has to open them first. */
export function requiredUrls(data: unknown): object {
  const { elicitations } = asJsonObject(data);
  const asked = Array.isArray(elicitations) ? (elicitations as Record<string, unknown>[]) : [];
  return {
    elicitations: asked
      .filter((one) => isShownUrl(one?.url))
      .slice(0, MAX_REQUIRED_URLS)
      .map(({ url, message }) => ({
        mode: 'url',
        elicitationId: '',
        url: url as string,
        message: typeof message === 'string' ? message.slice(0, MAX_REQUIRED_TEXT) : '',
      })),
  };
}

/** What the model gets for error -32042; null for any other error. */
export function addressesToOpen(error: McpError, cleaner: Cleaner): string | null {
  const urls = error instanceof UrlElicitationRequiredError ? error.elicitations : [];
  if (urls.length === 0) return null;
  const shown = urls.map(({ url, message }) => `${url}${message === '' ? '' : ` (${message})`}`).join('\n');
  return cleaner.clean(`a person has to open this address first.\n${shown}`);
}

function invalid(message: string): McpError {
  return new McpError(ErrorCode.InvalidParams, message);
}
