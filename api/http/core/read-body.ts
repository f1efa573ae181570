import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../src/platform/errors.js';
import { BodyWatch, type BodyPace } from './body-watch.js';

const FIRST_BYTES = 4096;

export interface BodyRules extends BodyPace {
  maxBytes: number;
  /** Looks at the bytes while they arrive. What it throws refuses the body. */
  inspect?: (chunk: Buffer) => void;
}

/**
 * Reads a whole body. Refuses it as soon as it breaks a rule, whatever its Content-Length says.
 * @throws ServiceError `content_too_large`, `request_timeout`, `bad_request` if the client disconnects, and whatever
 * `inspect` throws
 */
export function readBody(req: IncomingMessage, { maxBytes, inspect, ...pace }: BodyRules): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer();
    const settle = (done: () => void): void => {
      watch.stop();
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // An error in the ignored rest does not matter, but without a listener it would end the process.
      req.on('error', () => undefined);
      done();
    };
    const refuse = (error: Error): void => settle(() => reject(error));
    const watch = new BodyWatch(req, refuse, pace);

    const onData = (chunk: Buffer): void => {
      watch.arrived(chunk.length);
      try {
        if (body.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
        inspect?.(chunk);
      } catch (error) {
        refuse(error as Error);
        return;
      }
      body.append(chunk);
    };
    const onEnd = (): void => settle(() => resolve(body.bytes));
    const onClose = (): void => refuse(new ServiceError('bad_request', 'The body is shorter than its Content-Length.'));

    // The client disconnected while its key was checked: no event would follow.
    if (req.destroyed) onClose();
    else req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

/** One buffer that doubles: of a body in chunks of one byte, a list of the chunks would take a hundred times its size. */
class GrowingBuffer {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#buffer.length * 2));
      this.bytes.copy(larger);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('content_too_large', `The body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes });
}
