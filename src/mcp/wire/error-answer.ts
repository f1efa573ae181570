import { asJsonObject } from '../../platform/json-object.js';
import type { McpRequest } from '../mcp-request.js';
import { MAX_UNASKED_BYTES, MAX_UNASKED_VALUES } from './answer-limits.js';
import { rpcError } from './sdk-message.js';
import { SseEvents } from './sse-events.js';

/** Some servers send JSON without a type. */
const JSON_TYPE = /^($|(application\/(json|[a-z0-9.-]+\+json)|text\/plain)\b)/i;
const STREAM_TYPE = /^text\/event-stream\b/i;
/** The id with which the SDK for Python refuses a request. */
const NO_ID = 'server-error';

/**
 * Reads the body of an answer with an error status. A JSON-RPC error with the request's id is the answer, whatever the
 * status: the SDK then gets it with 200. Null for any other body. It reads at most 64 KiB.
 */
export async function readErrorAnswer(response: Response, request: McpRequest): Promise<Response | null> {
  const { ok, status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const isStream = STREAM_TYPE.test(type);
  if (ok || status === 401 || (!isStream && !JSON_TYPE.test(type))) return null;
  for await (const text of isStream ? eventsOf(response) : wholeOf(response)) {
    const error = errorOf(text, request);
    if (error === null) continue;
    request.errorStatus = status;
    const answer = { jsonrpc: '2.0', id: request.id, error };
    return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } });
  }
  return null;
}

/** Before there is a session, servers that refuse to initialize it often send no id. */
function errorOf(text: string, { id: requestId, handshake }: McpRequest): ReturnType<typeof rpcError> {
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
  const limits = { bytes: MAX_UNASKED_BYTES, values: MAX_UNASKED_VALUES, onExceeded: () => undefined };
  const events = new SseEvents(limits);
  for await (const chunk of piecesOf(response)) {
    if (chunk === null) return;
    for (const { data } of events.feed(chunk)) if (data !== null) yield data;
  }
}

async function* wholeOf(response: Response): AsyncGenerator<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of piecesOf(response)) {
    if (chunk === null) return;
    chunks.push(chunk);
  }
  yield Buffer.concat(chunks).toString();
}

/** The pieces of a body; null where it is too long. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array | null> {
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    const fits = bytes <= MAX_UNASKED_BYTES;
    yield fits ? chunk : null;
    if (!fits) return;
  }
}
