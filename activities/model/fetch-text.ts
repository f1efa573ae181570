import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { request } from 'undici';
import type { Answered } from './model-response.js';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * `fetch` for a request that has a text as its body or none. It takes half a millisecond of CPU less than `fetch`, which
 * wraps what it sends and receives in web streams. Both use the same dispatcher: a proxy that Node was started with,
 * timeouts and connections are the same.
 */
export async function fetchText(url: string, init: RequestInit = {}): Promise<Answered> {
  const { method, headers, body, signal } = init as RequestInit & { method: 'GET' | 'POST'; body: string | undefined };
  const answer = await request(url, { method, headers: headers as Headers, body, signal });
  if (REDIRECTS.has(answer.statusCode)) {
    await answer.body.dump();
    return fetch(url, init);
  }
  const received = new Headers();
  for (const [name, values] of Object.entries(answer.headers)) {
    for (const value of [values ?? []].flat()) received.append(name, value);
  }
  // We do not ask for a compressed answer, but some gateways send one.
  const decoder = DECODERS.get(received.get('content-encoding')?.toLowerCase() ?? '')?.();
  return {
    url,
    status: answer.statusCode,
    headers: received,
    // An error shows to whoever reads the decoder.
    body: decoder === undefined ? answer.body : pipeline(answer.body, decoder, () => undefined),
  };
}
