import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { setTimeout } from 'node:timers/promises';
import { restoreNumbers } from '../platform/exact-json.js';
import { McpRequest, type OnStreamEnd } from './mcp-request.js';
import type { GuardedNetwork } from '../network/network.js';
import type { Authorization, RequestAuth } from './request-auth.js';
import { MAX_ANSWER_BYTES } from './wire/answer-limits.js';
import type { Pacer } from './wire/pacer.js';
import { readErrorAnswer } from './wire/error-answer.js';
import { readEventStream, readJsonAnswer } from './wire/read-answer.js';

/** Minimum interval between two attempts to open a stream. The SDK itself reconnects as fast as the server asks. */
const MIN_STREAM_INTERVAL_MS = 500;
/** Limit of parallel answers to the server's own requests (pings), without those to its questions. */
const MAX_REPLIES = 16;
/** Limit of attempts with different tokens. */
const MAX_ATTEMPTS = 3;

/** Some servers send JSON under these types. */
const MAY_BE_JSON: ReadonlySet<string> = new Set(['', 'text/plain']);
const INITIALIZED = 'notifications/initialized';

type Kind = 'request' | 'resume' | 'listen' | 'reply' | 'initialized' | 'other';

export interface FetchOptions {
  network: GuardedNetwork;
  auth: RequestAuth;
  /** Also opens the server's stream of messages, on which some servers report progress. */
  listen: boolean;
  /** Limits the messages that the server sends unasked. */
  pacer: Pacer;
  /** How many questions of the server may be answered at once. */
  maxQuestions?: number;
  /** Runs when the server has answered the request for its own stream. */
  onListen?: () => void;
}

class TooManyRepliesError extends Error {
  override readonly name = 'TooManyRepliesError';
}

/** The SDK's fetch for one connection: limits the server's data and lets each request track its streams. */
export function limitedFetch({ network, auth, listen, pacer, maxQuestions = 0, onListen }: FetchOptions): FetchLike {
  let replies = 0;
  let nextStreamAt = 0;
  const open = new Map<number, McpRequest>();
  /** Resolves at the end of the server's own stream; null while it has none. */
  let ownStream: Promise<void> | null = null;

  return async (url, init = {}) => {
    const { kind, id } = describe(init);
    const body = typeof init.body === 'string' ? restoreNumbers(init.body) : init.body;
    const request = kind === 'request' || kind === 'resume' ? McpRequest.current() : undefined;
    // The handshake has ended when the server has taken this notification, however slowly.
    const watching = kind === 'initialized' ? McpRequest.current() : request;
    if (request !== undefined && id !== undefined) {
      request.id = id;
      open.set(id, request);
      request.onSettled = () => open.delete(id);
    }
    const isStream = kind === 'listen' || kind === 'resume';
    const budget = request?.limits ?? { bytes: MAX_ANSWER_BYTES };
    const send = async (
      signal: AbortSignal | null | undefined,
      onEnd: OnStreamEnd = () => undefined,
    ): Promise<Response> => {
      const response = await sendAuthorized(auth, (authorization) => {
        const headers = new Headers(init.headers);
        for (const [name, value] of Object.entries(authorization.headers)) headers.set(name, value);
        return network.fetch(new URL(url), { ...init, body, headers, signal: signal ?? null }, { budget });
      });
      const type = response.body === null ? '' : mediaType(response);
      const isJson = response.ok && (type === 'application/json' || (MAY_BE_JSON.has(type) && response.status === 200));
      if (response.ok && type === 'text/event-stream' && (request !== undefined || isStream)) {
        return readEventStream(response, { request, open, pacer, onEnd });
      }
      try {
        if (request !== undefined && kind === 'request') {
          const answer = await (isJson ? readJsonAnswer(response, request) : readErrorAnswer(response, request));
          if (answer !== null) return answer;
        }
        await response.body?.cancel();
        return withoutBody(response, isStream);
      } finally {
        onEnd(response.status !== 202);
      }
    };

    if (kind === 'listen' && !listen) return new Response(null, { status: 405 });
    if (isStream) {
      const wait = nextStreamAt - Date.now();
      nextStreamAt = Math.max(nextStreamAt, Date.now()) + MIN_STREAM_INTERVAL_MS;
      if (wait > 0) await setTimeout(wait, undefined, { signal: init.signal ?? undefined, ref: false });
    }
    if (kind === 'reply') {
      if (replies === MAX_REPLIES + maxQuestions) throw new TooManyRepliesError();
      replies += 1;
      return send(init.signal).finally(() => (replies -= 1));
    }
    if (isStream && request === undefined) {
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const response = await send(init.signal, () => end()).finally(onListen);
      if (response.ok) ownStream = ended.then(() => void (ownStream = null));
      return response;
    }
    return watching === undefined ? send(init.signal) : watching.watch(init.signal, send, () => ownStream);
  };
}

/**
 * Sends a request, and again with another token after a 401, which means that the server has not processed it. The second
 * token can be one that another process had requested and that was withdrawn, too; then the third is a new one.
 */
async function sendAuthorized(
  auth: RequestAuth,
  send: (authorization: Authorization) => Promise<Response>,
): Promise<Response> {
  let authorization = await auth.authorize();
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(authorization);
    if (response.status !== 401 || authorization.token === undefined || attempt === MAX_ATTEMPTS) return response;
    await response.body?.cancel();
    authorization = await auth.authorize(authorization);
  }
}

/** The SDK needs only the status. It would read the text of an error, and any answer to GET as an event stream. */
function withoutBody({ ok, status, statusText, headers }: Response, isStream: boolean): Response {
  return new Response(null, { status: ok && isStream ? 405 : status, statusText, headers });
}

function mediaType({ headers }: Response): string {
  return headers.get('content-type')?.split(';')[0]!.trim().toLowerCase() ?? '';
}

function describe({ method, headers, body }: RequestInit): { kind: Kind; id?: number } {
  if (method === 'GET') return { kind: new Headers(headers).has('last-event-id') ? 'resume' : 'listen' };
  if (method !== 'POST') return { kind: 'other' };
  const message = JSON.parse(body as string) as { id?: number; method?: unknown };
  if (message.id === undefined) return { kind: message.method === INITIALIZED ? 'initialized' : 'other' };
  return message.method === undefined ? { kind: 'reply' } : { kind: 'request', id: message.id };
}
