import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { isJsonObject, type JsonObject } from '../../platform/json-object.js';
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
  request: McpRequest | undefined,
): SdkMessage {
  const message = JSON.parse(text) as unknown;
  if (request !== undefined && isJsonObject(message) && isAnswerTo(request, message)) {
    takeValues(request.limits, values);
    if (request.handshake) return { text, isAnswer: true };
    const { id, result, error } = message;
    if (isJsonObject(result)) {
      request.answer = result;
      return { text: JSON.stringify({ jsonrpc: '2.0', id, result: {} }), isAnswer: true };
    }
    if (isJsonObject(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string') {
      const shown = {
        code: error.code,
        message: error.message.slice(0, MAX_ERROR_CHARACTERS),
        ...(error.code === (ErrorCode.UrlElicitationRequired as number) && { data: requiredUrls(error.data) }),
      };
      return { text: JSON.stringify({ jsonrpc: '2.0', id, error: shown }), isAnswer: true };
    }
  }
  const refused = refusableQuestion(message, { bytes, values });
  if (refused !== null) return { text: JSON.stringify(refused), isAnswer: false };
  if (isQuestion(message)) return { text, isAnswer: false };
  const isSmall = bytes <= MAX_UNASKED_BYTES && values <= MAX_UNASKED_VALUES;
  return { text: isSmall ? text : null, isAnswer: false };
}

/** Servers may send the id as a string. */
function isAnswerTo(request: McpRequest, { jsonrpc, id, method }: JsonObject): boolean {
  if (jsonrpc !== '2.0' || method !== undefined) return false;
  return (typeof id === 'number' || typeof id === 'string') && Number(id) === request.id;
}
