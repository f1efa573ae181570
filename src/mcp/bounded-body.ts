export interface FetchLimits {
  /** Bytes of bodies that may still come, after decompression; several responses may share it. */
  budget: { bytes: number };
  /** Runs once when the body has been read, broke off or was given up. */
  onEnd?: () => void;
}

/** The body of a response was longer than allowed. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/** The same response with a body that breaks off beyond the budget and tells when it is over, however it ends. */
export function boundedBody(response: Response, { budget, onEnd }: FetchLimits): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    onEnd?.();
    return response;
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const bounded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        budget.bytes -= value?.length ?? 0;
        if (budget.bytes < 0) throw new ResponseTooLargeError('the body is too long');
        if (value !== undefined) controller.enqueue(value);
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
