import { asJsonObject } from '../../platform/json-object.js';
import type { McpRequest } from '../mcp-request.js';
import { MAX_UNASKED_BYTES } from './answer-limits.js';
import { rpcError } from './sdk-message.js';

const JSON_TYPE = /^(application\/(json|[a-z0-9.-]+\+json)|text\/plain)\b/i;
/** JSON-RPC's own errors about a method, its parameters, and the server. None of them is about a session. */
const OF_THE_REQUEST: ReadonlySet<number> = new Set([-32601, -32602, -32603]);
const SESSION_NOT_FOUND = -32001;
/** Other codes that servers made with an SDK use for a session that they do not know. */
const OF_A_SESSION: ReadonlySet<number> = new Set([-32600, -32000]);

/**
 * Reads the body of an answer with an error status. A JSON-RPC error with the request's id is the answer, whatever the
 * status: the SDK then gets it with 200. Null for any other body. It reads at most 64 KiB.
 */
export async function readErrorAnswer(
  response: Response,
  request: McpRequest,
  inSession: boolean,
): Promise<Response | null> {
  const { ok, status, headers } = response;
  if (ok || status === 401 || !JSON_TYPE.test(headers.get('content-type') ?? '')) return null;
  const text = await readStart(response);
  const error = errorOf(text, request);
  if (error === null || (inSession && isAboutSession(status, error))) return null;
  const answer = { jsonrpc: '2.0', id: request.id, error };
  return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } });
}

/** True if an error with this status says that the server does not know the session. */
export function isAboutSession(status: number, { code, message }: { code: number; message: string }): boolean {
  if ((status !== 404 && status !== 400) || OF_THE_REQUEST.has(code)) return false;
  if (code === SESSION_NOT_FOUND || /session/i.test(message)) return true;
  return status === 404 && OF_A_SESSION.has(code);
}

/** Before there is a session, servers that refuse to initialize it often send no id. */
function errorOf(text: string, { id: requestId, handshake }: McpRequest): ReturnType<typeof rpcError> {
  try {
    const { id, error } = asJsonObject(JSON.parse(text));
    const isAnswer = id == null ? handshake : Number(id) === requestId;
    return isAnswer ? rpcError(error) : null;
  } catch {
    return null;
  }
}

async function readStart({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_UNASKED_BYTES) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
