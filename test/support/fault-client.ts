import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiResponse } from './client.js';
import { openSse } from './sse-reader.js';
import type { Watched } from './turn-checker.js';

export interface Turn {
  sessionId: string;
  turnId: string;
}

/** Before a client asks again after a failure. */
export const RETRY_PAUSE_MS = 100;
const REQUEST_MS = 20_000;

/** Reads a turn's stream to its terminal event; whenever it ends before, goes on elsewhere after the last frame. */
export async function watchOver(
  url: () => string,
  key: string,
  { sessionId, turnId }: Turn,
  closed: AbortSignal,
): Promise<Watched> {
  const watched: Watched = { turnId, frames: [] };
  for (;;) {
    // The system was closed over a turn that nobody verified.
    if (closed.aborted) return watched;
    const last = watched.frames.at(-1);
    if (last !== undefined && /^turn\.(completed|cancelled|failed)$/.test(last.event)) return watched;
    const stream = await openSse(`${url()}/v1/sessions/${sessionId}/events/stream`, key, last?.id).catch(() => null);
    await stream?.ended;
    watched.frames.push(...(stream?.frames ?? []));
    await sleep(RETRY_PAUSE_MS);
  }
}

export async function request(
  url: string,
  key: string,
  method: string,
  path: string,
  body: unknown,
  idempotencyKey: string,
): Promise<ApiResponse> {
  const response = await fetch(url + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      ...(method === 'POST' && { 'Idempotency-Key': idempotencyKey }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}
