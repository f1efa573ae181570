import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../../platform/json-object.js';
import { parseExact } from '../../platform/exact-json.js';
import type { McpRequest } from '../mcp-request.js';
import { isQuestion, refusableQuestion, requiredUrls } from '../questions.js';
import { MAX_UNASKED_BYTES, MAX_UNASKED_VALUES, takeValues } from './answer-limits.js';

/** Long enough for any text that is shown, with a credential that the server may echo. */
const MAX_ERROR_CHARACTERS = 64 * 1024;

interface SdkMessage {
  /** Null: nothing. */
  text: string | null;
  isAnswer: boolean;
}

/**
 * Keeps the result of an answer and gives the SDK an empty one in its place. The SDK would check the result with zod,
 * which needs seconds for an object with many keys, and no request of ours needs that check. Of other messages, the SDK
 * gets the small ones.
 * @throws SyntaxError, AnswerRefusedError
 */
export function sdkMessage(
  text: string,
  { bytes, values }: { bytes: number; values: number },
  find: FindRequest,
): SdkMessage {
  const message = JSON.parse(text) as unknown;
  const request = isJsonObject(message) ? requestOf(message, find) : undefined;
  if (request !== undefined && isJsonObject(message)) {
    takeValues(request.limits, values);
    const { id } = request;
    const error = rpcError(message.error);
    if (error !== null) {
      request.errorStatus = 200;
      return { text: JSON.stringify({ jsonrpc: '2.0', id, error }), isAnswer: true };
    }
    if (request.handshake)
      return { text: JSON.stringify({ ...message, id, result: initialized(message.result) }), isAnswer: true };
    const { result } = request.exactNumbers ? (parseExact(text, message) as JsonObject) : message;
    if (result !== undefined) {
      request.answer = resultObject(result);
      return { text: JSON.stringify({ jsonrpc: '2.0', id, result: {} }), isAnswer: true };
    }
  }
  const refused = refusableQuestion(message, { bytes, values });
  if (refused !== null) return { text: JSON.stringify(refused), isAnswer: false };
  if (isQuestion(message)) return { text, isAnswer: false };
  const isSmall = bytes <= MAX_UNASKED_BYTES && values <= MAX_UNASKED_VALUES;
  return { text: isSmall ? text : null, isAnswer: false };
}

/** The answer to `initialize`. Servers leave `serverInfo` out, and those in PHP send an empty object as an empty list. */
function initialized(result: unknown): JsonObject {
  const { capabilities, serverInfo, ...rest } = asJsonObject(result);
  const { name, ...info } = asJsonObject(serverInfo);
  return {
    ...rest,
    capabilities: Object.fromEntries(
      Object.entries(asJsonObject(capabilities)).map(([key, value]) => [key, Array.isArray(value) ? {} : value]),
    ),
    serverInfo: { ...info, name: typeof name === 'string' ? name : '', version: '' },
  };
}

/** Some servers send the content alone. */
function resultObject(result: unknown): JsonObject {
  if (isJsonObject(result)) return result;
  if (typeof result === 'string' || Array.isArray(result)) return { content: result };
  return result === null ? {} : { structuredContent: result };
}

interface RpcError {
  code: number;
  message: string;
  data?: object;
}

/** The error of an answer in the form that the SDK requires; null without one. */
export function rpcError(error: unknown): RpcError | null {
  if (typeof error === 'string') return rpcError({ message: error });
  if (!isJsonObject(error)) return null;
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : ErrorCode.InternalError,
    message: typeof message === 'string' ? message.slice(0, MAX_ERROR_CHARACTERS) : 'an error without a message',
    ...(code === (ErrorCode.UrlElicitationRequired as number) && { data: requiredUrls(data) }),
    ...(Array.isArray(asJsonObject(data).supported) && { data: { supported: [] } }),
  };
}

/** Finds the open request that a message may answer. Before there is a session, many servers send an error without an id. */
export type FindRequest = (id: number | null) => McpRequest | undefined;

export function ofRequest(request: McpRequest): FindRequest {
  return (id) => (id === request.id || (id === null && request.handshake) ? request : undefined);
}

/** The request that the message answers. Servers may send the id as a string. */
function requestOf({ jsonrpc, id = null, method, error }: JsonObject, find: FindRequest): McpRequest | undefined {
  if (jsonrpc !== '2.0' || method !== undefined) return undefined;
  if (id === null) return rpcError(error) === null ? undefined : find(null);
  return typeof id === 'number' || typeof id === 'string' ? find(Number(id)) : undefined;
}
