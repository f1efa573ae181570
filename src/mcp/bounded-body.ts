import { setTimeout } from 'node:timers/promises';

export interface FetchLimits {
  /** Bytes of bodies that may still come, after decompression; several responses may share it. */
  budget: { bytes: number };
  /** Redirects that may be followed; 5 unless given. */
  maxRedirects?: number;
  /** Runs once before more than `LARGE_ANSWER_BYTES` of one message are read; reading waits for it. */
  onLarge?: () => Promise<void>;
  /** Runs once when the body has been read, broke off or was given up. */
  onEnd?: () => void;
}

/** Beyond that an answer counts against the worker's budget for bytes in flight. */
export const LARGE_ANSWER_BYTES = 1024 * 1024;

/** The body of a response was longer than allowed. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/**
 * Events of a stream that are read at once, and from then on in a second. The SDK takes 0.2 ms for a ping of 60 bytes:
 * without a pace, a stream full of them would keep a worker from everything else.
 */
const EVENT_BURST = 1000;
const EVENTS_PER_SECOND = 200;

/** The same response with a body that breaks off beyond the budget and tells when it is over, however it ends. */
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

/** Where the last complete event of a chunk ends; 0 without one. */
function lastEventEnd({ buffer, byteOffset, length }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, length);
  const blankLine = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  return blankLine + 1;
}

/** Waits after a chunk whose events came faster than the pace. An event has at least two line ends. */
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
