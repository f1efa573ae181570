import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../../platform/json-object.js';
import { parseExact } from '../../platform/exact-json.js';
import { isQuestion, refusableQuestion } from '../questions.js';
import { MAX_UNASKED_BYTES, MAX_UNASKED_VALUES } from './answer-body.js';
import { AnswerRefusedError } from './errors.js';
import type { McpRequest } from './request.js';
import { rpcError, serverError } from './server-error.js';

/** Finds the open request that a message may answer. Before there is a session, many servers send an error without an id. */
export type FindRequest = (id: number | null) => McpRequest | undefined;

/** A message that is no answer: what the SDK gets of it, null if it gets nothing. */
export interface Unasked {
  message: JSONRPCMessage | null;
}

/**
 * Reads a message. An answer goes to its request, unchecked: the SDK's check with zod needs seconds for an object with many
 * keys, and refuses a whole result for one unknown kind of content. Of other messages, the SDK gets the small ones.
 * @returns null for an answer
 * @throws SyntaxError
 */
export function readMessage(text: string, size: { bytes: number; values: number }, find: FindRequest): Unasked | null {
  const message = JSON.parse(text) as unknown;
  if (!isJsonObject(message)) return { message: null };
  const request = requestOf(message, find);
  if (request !== undefined) {
    const { limits, exactNumbers, handshake } = request.options;
    limits.values -= size.values;
    if (limits.values < 0) {
      request.abandon(new AnswerRefusedError(limits.tooMany));
      return null;
    }
    const error = rpcError(message.error);
    const { result } = exactNumbers === true ? (parseExact(text, message) as JsonObject) : message;
    if (error !== null) request.fail(serverError(error, 200));
    else request.succeed(handshake === true ? initialized(result) : resultObject(result));
    return null;
  }
  if (message.method === undefined) return { message: null };
  const refused = refusableQuestion(message, size);
  const isSmall = size.bytes <= MAX_UNASKED_BYTES && size.values <= MAX_UNASKED_VALUES;
  const passedOn = refused ?? (isSmall || isQuestion(message) ? message : null);
  return { message: passedOn as JSONRPCMessage | null };
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

/** The request that the message answers. Servers may send the id as a string. */
function requestOf(
  { jsonrpc, id = null, method, result, error }: JsonObject,
  find: FindRequest,
): McpRequest | undefined {
  if (jsonrpc !== '2.0' || method !== undefined) return undefined;
  const hasError = rpcError(error) !== null;
  if (!hasError && result === undefined) return undefined;
  if (id === null) return hasError ? find(null) : undefined;
  return typeof id === 'number' || typeof id === 'string' ? find(Number(id)) : undefined;
}
