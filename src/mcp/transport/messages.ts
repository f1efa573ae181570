import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject, isJsonObject, withoutNulls, type JsonObject } from '../../platform/json-object.js';
import { parseExact } from '../../platform/exact-json.js';
import { isQuestion, refusableQuestion } from '../questions.js';
import { MAX_UNASKED_BYTES, MAX_UNASKED_VALUES } from './answer-body.js';
import { AnswerRefusedError, McpProtocolError } from './errors.js';
import type { McpRequest } from './request.js';
import { isEmptyError, rpcError, serverError } from './server-error.js';

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
    const { result } = exactNumbers === true ? (parseExact(text, message) as JsonObject) : message;
    const hasResult = result !== undefined && result !== null;
    const error = hasResult && isEmptyError(message.error) ? null : rpcError(message.error);
    if (error !== null) request.fail(serverError(error, 200));
    else if (result === undefined) request.fail(new McpProtocolError('its answer has neither a result nor an error'));
    else request.succeed(handshake === true ? initialized(result) : resultObject(result));
    return null;
  }
  if (message.method === undefined) return { message: null };
  const refused = refusableQuestion(message, size);
  const isSmall = size.bytes <= MAX_UNASKED_BYTES && size.values <= MAX_UNASKED_VALUES;
  const passedOn = refused ?? (isSmall || isQuestion(message) ? answerable(message) : null);
  return { message: passedOn as JSONRPCMessage | null };
}

/**
 * The answer to `initialize`, with the members that this service uses: the SDK's check would refuse the whole answer for null, or
 * for an empty list (PHP's empty object), in a member that nobody reads.
 */
function initialized(result: unknown): JsonObject {
  const { protocolVersion, capabilities, serverInfo } = asJsonObject(result);
  const { tools, tasks } = asJsonObject(capabilities);
  const { call } = asJsonObject(asJsonObject(asJsonObject(tasks).requests).tools);
  const { name } = asJsonObject(serverInfo);
  return {
    protocolVersion,
    capabilities: {
      ...(isOffered(tools) && { tools: {} }),
      ...(isOffered(call) && { tasks: { requests: { tools: { call: {} } } } }),
    },
    serverInfo: { name: typeof name === 'string' ? name : '', version: '' },
  };
}

/** A capability is an object. Servers also send `true`, and null or `false` for one that they lack. */
function isOffered(capability: unknown): boolean {
  return capability !== undefined && capability !== null && capability !== false;
}

/** Some servers send the content alone. */
function resultObject(result: unknown): JsonObject {
  if (isJsonObject(result)) return result;
  if (typeof result === 'string' || Array.isArray(result)) return { content: result };
  return result === null ? {} : { structuredContent: result };
}

/** The request that the message answers. Servers may send the id as a string, and leave `jsonrpc` out. */
function requestOf({ id = null, method, error }: JsonObject, find: FindRequest): McpRequest | undefined {
  if (method !== undefined) return undefined;
  if (id === null) return rpcError(error) === null ? undefined : find(null);
  return typeof id === 'number' || typeof id === 'string' ? find(Number(id)) : undefined;
}

/** A ping or a question of the server, without nulls around its parameters: the SDK would not answer it at all. */
function answerable(message: JsonObject): JsonObject {
  const { params, ...others } = withoutNulls(message);
  if (!isJsonObject(params)) return message.params === null ? others : message;
  const { _meta, ...given } = params;
  return { ...others, params: { ...given, ...(_meta !== undefined && { _meta: withoutNulls(_meta) }) } };
}
