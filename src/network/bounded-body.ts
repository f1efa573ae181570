import { setTimeout } from 'node:timers/promises';

export interface FetchLimits {
  /** Remaining bytes of bodies, after decompression. Several responses may share it. */
  budget: { bytes: number };
  /** Limit of redirects; default 5. */
  maxRedirects?: number;
  /** Runs once before more than `LARGE_ANSWER_BYTES` of a message are read. Reading waits for it. */
  onLarge?: () => Promise<void>;
  /** Runs once when the body has ended, failed or was abandoned. */
  onEnd?: () => void;
}

/** A larger answer counts against the worker's budget for bytes in flight. */
export const LARGE_ANSWER_BYTES = 1024 * 1024;

/** A response body exceeded its limit. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/**
 * Rate limit for the events of a stream: a burst, then events per second. The SDK needs 0.2 ms for a ping of 60 bytes:
 * an unlimited stream of pings would occupy the worker.
 */
const EVENT_BURST = 1000;
const EVENTS_PER_SECOND = 200;

/** Wraps a response: its body fails beyond the budget and reports its end in every case. */
export function boundedBody(response: Response, { budget, onLarge, onEnd }: FetchLimits): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    onEnd?.();
    return response;
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const isStream = headers.get('content-type')?.includes('event-stream') === true;
  const pause = isStream ? pacer() : async () => undefined;
  let messageBytes = 0;
  let isLarge = false;
  const bounded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (value !== undefined) {
          budget.bytes -= value.length;
          if (budget.bytes < 0) throw new ResponseTooLargeError('the body is too long');
          const end = isStream ? lastEventEnd(value) : 0;
          messageBytes = end > 0 ? value.length - end : messageBytes + value.length;
          if (!isLarge && messageBytes > LARGE_ANSWER_BYTES) {
            isLarge = true;
            await onLarge?.();
          }
          controller.enqueue(value);
          await pause(value);
        }
        if (!done) return;
        controller.close();
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
      onEnd?.();
    },
    async cancel(reason) {
      onEnd?.();
      await reader.cancel(reason);
    },
  });
  return new Response(bounded, { status, statusText, headers });
}

/** The offset after the last complete event in a chunk; 0 if there is none. */
function lastEventEnd({ buffer, byteOffset, length }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, length);
  const blankLine = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  return blankLine + 1;
}

/** Returns a function that delays after chunks that exceed the rate. An event has at least two line ends. */
function pacer(): (chunk: Uint8Array) => Promise<void> {
  let tokens = EVENT_BURST;
  let last = performance.now();
  return async (chunk) => {
    let lineEnds = 0;
    for (const byte of chunk) if (byte === 10 || byte === 13) lineEnds += 1;
    const now = performance.now();
    tokens = Math.min(EVENT_BURST, tokens + ((now - last) / 1000) * EVENTS_PER_SECOND) - lineEnds / 2;
    last = now;
    if (tokens < 0) await setTimeout((-tokens / EVENTS_PER_SECOND) * 1000, undefined, { ref: false });
  };
}
