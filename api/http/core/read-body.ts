import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../src/platform/errors.js';

/** Idle timeout of a body (contract.md §1). */
export const BODY_IDLE_MS = 30_000;

export function requestTimeout(): ServiceError {
  return new ServiceError('request_timeout', 'The body stopped arriving.', undefined, { Connection: 'close' });
}

/**
 * Reads a whole body. Aborts as soon as more than `maxBytes` have arrived, whatever its Content-Length says.
 * @throws ServiceError `content_too_large`, `request_timeout`, `bad_request` if the client disconnects
 */
export function readBody(req: IncomingMessage, maxBytes: number, idleMs = BODY_IDLE_MS): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const idle = setTimeout(() => settle(() => reject(requestTimeout())), idleMs);

    const settle = (done: () => void): void => {
      clearTimeout(idle);
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // An error in the ignored rest does not matter, but without a listener it would end the process.
      req.on('error', () => undefined);
      done();
    };
    const onData = (chunk: Buffer): void => {
      idle.refresh();
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) settle(() => reject(tooLarge(maxBytes)));
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks, size)));
    const onClose = (): void =>
      settle(() => reject(new ServiceError('bad_request', 'The body ended before its announced end.')));

    // The client disconnected while its key was checked: no event would follow.
    if (req.destroyed) onClose();
    else req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('content_too_large', `The body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes });
}
