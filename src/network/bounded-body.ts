import { ignored } from '../platform/ignored.js';

export interface FetchLimits {
  /** Remaining bytes of bodies, after decompression. Several responses may share it. */
  left: { bytes: number };
  /** Limit of redirects; default 5. */
  maxRedirects?: number;
}

export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/** Wraps a response: its body fails beyond the bytes that are left. */
export function boundedBody(response: Response, { left }: FetchLimits): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const bounded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        left.bytes -= value.length;
        if (left.bytes < 0) throw new ResponseTooLargeError('the body is too long');
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(ignored('the body has failed already'));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(bounded, { status, statusText, headers });
}
