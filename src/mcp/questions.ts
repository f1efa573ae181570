import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CancelledNotificationSchema,
  ErrorCode,
  McpError,
  UrlElicitationRequiredError,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import type { Form } from '../forms/fields.js';
import { FormError, readForm } from '../forms/form.js';
import { asJsonObject } from '../platform/json-object.js';
import { codePointLength, hidesText } from '../platform/text.js';
import { cleanJson, type Cleaner } from './cleaner.js';

/** What a server may ask the person: MCP's elicitation (decisions.md "Tasks and elicitation"). */
export const QUESTION_CAPABILITIES = { elicitation: { form: {}, url: {} } };

/**
 * Answers a question, whose parameters are unchecked. `requestId` is that of the server's request; `signal` aborts when the server withdraws it or the
 * connection closes. An McpError is the answer, too.
 */
export type QuestionHandler = (
  params: unknown,
  request: { requestId: number | string; signal: AbortSignal },
) => Promise<ElicitResult>;

/** A question, cleaned. */
export type AskedQuestion = { message: string } & (
  | { mode: 'form'; requestedSchema: Form; url: null }
  | { mode: 'url'; requestedSchema: null; url: string }
);

const MAX_MESSAGE_LENGTH = 10_000;
const MAX_SCHEMA_BYTES = 32 * 1024;
const MAX_URL_LENGTH = 2048;
/** Room for the message and the schema of a question. */
const MAX_QUESTION_BYTES = 128 * 1024;
const MAX_QUESTION_VALUES = 2500;
const METHOD = 'elicitation/create';

/**
 * Passes the questions of a server on. A handler that is registered for the method would check them with the SDK's schemas,
 * which take long to list the errors of a large form.
 */
export function answerQuestions(client: Client, handler: QuestionHandler): void {
  const open = new Map<number | string, AbortController>();
  // The SDK's own handler ignores the cancellation of a request whose id is 0, which is mostly the first question.
  client.setNotificationHandler(CancelledNotificationSchema, ({ params: { requestId } }) => {
    if (requestId !== undefined) open.get(requestId)?.abort();
  });
  client.fallbackRequestHandler = async (request, { requestId, signal }) => {
    if (request.method !== METHOD) throw new McpError(ErrorCode.MethodNotFound, 'Method not found');
    const withdrawn = new AbortController();
    open.set(requestId, withdrawn);
    try {
      const ended = AbortSignal.any([signal, withdrawn.signal]);
      const result = await handler(request.params, { requestId, signal: ended });
      // A request that was cancelled gets no answer.
      return withdrawn.signal.aborted ? await new Promise<never>(() => undefined) : result;
    } finally {
      open.delete(requestId);
    }
  };
}

/**
 * What the SDK gets instead of a question that is too large: one without parameters, which is refused. Null for any other
 * message.
 */
export function refusableQuestion(message: unknown, size: { bytes: number; values: number }): object | null {
  const { method, id } = asJsonObject(message);
  if (!isQuestion(message)) return null;
  const isSmall = size.bytes <= MAX_QUESTION_BYTES && size.values <= MAX_QUESTION_VALUES;
  return isSmall ? null : { jsonrpc: '2.0', id, method };
}

export function isQuestion(message: unknown): boolean {
  const { method, id } = asJsonObject(message);
  return method === METHOD && id !== undefined;
}

/** Cleans a question and checks its form and limits. @throws McpError -32602, which the server gets */
export function readQuestion(params: unknown, cleaner: Cleaner): AskedQuestion {
  if (params === undefined) {
    const size = `${MAX_QUESTION_BYTES / 1024} KiB and ${MAX_QUESTION_VALUES} JSON values`;
    throw invalid(`a question needs params, and has at most ${size}`);
  }
  const { message, mode, url, requestedSchema } = asJsonObject(params);
  if (typeof message !== 'string' || codePointLength(message) > MAX_MESSAGE_LENGTH || hidesText(message)) {
    throw invalid(
      `message must be a text of at most ${MAX_MESSAGE_LENGTH} characters, without control characters or overrides of the writing direction`,
    );
  }
  const shown = cleaner.clean(message);
  if (mode === 'url') {
    const address = shownUrl(url);
    if (address === null || cleaner.clean(address) !== address) {
      throw invalid(
        `url must be https, without user info, spaces or invisible characters, of at most ${MAX_URL_LENGTH} characters`,
      );
    }
    return { message: shown, mode, requestedSchema: null, url: address };
  }
  if (mode !== 'form' && mode !== undefined && mode !== null) throw invalid('mode must be "form" or "url"');
  const form = formOf(cleanJson(requestedSchema, cleaner));
  if (Buffer.byteLength(JSON.stringify(form)) > MAX_SCHEMA_BYTES) {
    throw invalid('requestedSchema has more than 32 KiB');
  }
  return { message: shown, mode: 'form', requestedSchema: form, url: null };
}

/** For connections without a call: a question belongs to one. */
export const refuseQuestion: QuestionHandler = () =>
  Promise.reject(new McpError(ErrorCode.InvalidRequest, 'ask while a tool call runs, on the connection of the call'));

function formOf(schema: unknown): Form {
  try {
    return readForm(schema);
  } catch (error) {
    throw error instanceof FormError ? invalid(error.message) : error;
  }
}

const INVISIBLE = /[\p{Z}\p{C}]/u;

/**
 * The address as a browser would open it, with the host in ASCII: what a person reads is where they go. Null for an address
 * that must not be shown.
 */
function shownUrl(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > MAX_URL_LENGTH || INVISIBLE.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  return url.href.length > MAX_URL_LENGTH ? null : url.href;
}

const MAX_REQUIRED_URLS = 5;
const MAX_REQUIRED_TEXT = 1000;

/** Keeps the addresses of error -32042 that may be shown: a person has to open them first. */
export function requiredUrls(data: unknown): object {
  const { elicitations } = asJsonObject(data);
  const asked = Array.isArray(elicitations) ? (elicitations as unknown[]).map(asJsonObject) : [];
  return {
    elicitations: asked
      .flatMap(({ url, message }) => {
        const address = shownUrl(url);
        return address === null ? [] : [{ url: address, message }];
      })
      .slice(0, MAX_REQUIRED_URLS)
      .map(({ url, message }) => ({
        mode: 'url',
        elicitationId: '',
        url,
        message: typeof message === 'string' && !hidesText(message) ? message.slice(0, MAX_REQUIRED_TEXT) : '',
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
