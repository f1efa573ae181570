import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { setTimeout } from 'node:timers/promises';
import { McpRequest } from './mcp-request.js';
import type { McpNetwork } from '../network/network.js';
import type { Authorization, RequestAuth } from './request-auth.js';

/** Large enough for a few images in base64. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
/** Limit for all answers of a probe: 256 tools with 512 KiB of schemas need less. */
const MAX_PROBE_BYTES = 8 * 1024 * 1024;
/** Minimum interval between two attempts to open a stream. The SDK itself reconnects as fast as the server asks. */
const MIN_STREAM_INTERVAL_MS = 500;
/** Limit of parallel answers to the server's own requests (pings). */
const MAX_REPLIES = 16;

type Kind = 'request' | 'resume' | 'listen' | 'reply' | 'other';

/** The server sent too many parallel requests. */
export class TooManyRepliesError extends Error {
  override readonly name = 'TooManyRepliesError';
}

/**
 * The SDK's fetch for one connection: limits the server's data and lets each request track its streams. Without
 * `listen` (a probe) the server gets no stream of its own, and all its answers share one limit.
 */
export function limitedFetch(network: McpNetwork, auth: RequestAuth, listen: boolean): FetchLike {
  const shared = { bytes: MAX_PROBE_BYTES };
  let replies = 0;
  let nextStreamAt = 0;

  return async (url, init = {}) => {
    const kind = kindOf(init);
    const budget = listen ? { bytes: MAX_RESPONSE_BYTES } : shared;
    const request = kind === 'request' || kind === 'resume' ? McpRequest.current() : undefined;
    const send = (signal: AbortSignal | null | undefined, onEnd?: () => void): Promise<Response> =>
      sendAuthorized(auth, onEnd, async (authorization, onBodyEnd) => {
        const headers = new Headers(init.headers);
        for (const [name, value] of Object.entries(authorization.headers)) headers.set(name, value);
        const limits = { budget, onLarge: request?.onLarge, onEnd: onBodyEnd };
        return network.fetch(new URL(url), { ...init, headers, signal: signal ?? null }, limits);
      });

    if (kind === 'listen' && !listen) return new Response(null, { status: 405 });
    if (kind === 'listen' || kind === 'resume') {
      const wait = nextStreamAt - Date.now();
      nextStreamAt = Math.max(nextStreamAt, Date.now()) + MIN_STREAM_INTERVAL_MS;
      if (wait > 0) await setTimeout(wait, undefined, { signal: init.signal ?? undefined, ref: false });
    }
    if (kind === 'reply') {
      if (replies === MAX_REPLIES) throw new TooManyRepliesError();
      replies += 1;
      return send(init.signal).finally(() => (replies -= 1));
    }
    return request === undefined ? send(init.signal) : request.watch(init.signal, send);
  };
}

/** Sends a request, and again with a new token after a 401, which means that the server has not processed it. */
async function sendAuthorized(
  auth: RequestAuth,
  onEnd: (() => void) | undefined,
  send: (authorization: Authorization, onBodyEnd?: () => void) => Promise<Response>,
): Promise<Response> {
  let isFinal = false;
  let hasEnded = false;
  const authorization = await auth.authorize();
  const response = await send(authorization, () => {
    hasEnded = true;
    if (isFinal) onEnd?.();
  });
  if (response.status === 401 && authorization.token !== undefined) {
    await response.body?.cancel();
    return send(await auth.authorize(authorization), onEnd);
  }
  isFinal = true;
  if (hasEnded) onEnd?.();
  return response;
}

function kindOf({ method, headers, body }: RequestInit): Kind {
  if (method === 'GET') return new Headers(headers).has('last-event-id') ? 'resume' : 'listen';
  if (method !== 'POST') return 'other';
  const message = JSON.parse(body as string) as { id?: unknown; method?: unknown };
  if (message.id === undefined) return 'other';
  return message.method === undefined ? 'reply' : 'request';
}
