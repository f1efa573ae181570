import { asJsonObject } from '../../platform/json-object.js';
import { MAX_UNASKED_BYTES } from './answer-body.js';
import { EventReader } from './event-reader.js';
import type { McpRequest } from './request.js';
import { rpcError, type RpcError } from './server-error.js';

/** Some servers send JSON without a type. */
const JSON_TYPE = /^($|(application\/(json|[a-z0-9.-]+\+json)|text\/plain)\b)/i;
const STREAM_TYPE = /^text\/event-stream\b/i;
/** The id with which the SDK for Python refuses a request. */
const NO_ID = 'server-error';

/**
 * Reads the body of an answer with an error status. A JSON-RPC error with the request's id is the answer, whatever the
 * status. Null for any other body. It reads at most 64 KiB.
 */
export async function readErrorAnswer(response: Response, request: McpRequest): Promise<RpcError | null> {
  const { ok, status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const isStream = STREAM_TYPE.test(type);
  if (ok || status === 401 || (!isStream && !JSON_TYPE.test(type))) return null;
  for await (const text of isStream ? eventsOf(response) : wholeOf(response)) {
    const error = errorOf(text, request);
    if (error !== null) return error;
  }
  return null;
}

/** Before there is a session, servers that refuse to initialize it often send no id. */
function errorOf(text: string, { id: requestId, options: { handshake = false } }: McpRequest): RpcError | null {
  try {
    const { id, error } = asJsonObject(JSON.parse(text));
    const isAnswer = id == null || id === NO_ID ? handshake : Number(id) === requestId;
    return isAnswer ? rpcError(error) : null;
  } catch {
    return null;
  }
}

/** The data of the events, as they arrive: the server may leave the stream open. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  const events = new EventReader({ onRetry: () => undefined });
  for await (const piece of piecesOf(response)) for (const { data } of events.feed(piece)) yield data;
}

async function* wholeOf(response: Response): AsyncGenerator<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(response)) pieces.push(piece);
  yield Buffer.concat(pieces).toString();
}

/** The pieces of a body, without the rest of one that is too long. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > MAX_UNASKED_BYTES) return;
    yield piece;
  }
}
