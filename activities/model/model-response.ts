import { AsyncResource } from 'node:async_hooks';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { MIB } from '../../src/platform/units.js';
import { ModelStreamError } from './failures.js';

/** 128,000 tokens, each in an event of its own, take 20 MiB. */
const MAX_BYTES = 32 * MIB;
/** An event is kept and parsed as a whole. */
const MAX_EVENT_BYTES = 4 * MIB;
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];
const NEWLINE = 10;

export type Answered = Pick<Response, 'url' | 'status' | 'headers'> & { body: AsyncIterable<Uint8Array> | null };

/** The part of a `Response` that the SDKs use. */
export class ModelResponse {
  readonly url: string;
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Headers;
  readonly body: Readable;

  constructor(
    { url, status, headers, body }: Answered,
    private readonly onProgress: () => void,
  ) {
    this.url = url;
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.headers = headers;
    this.body = body instanceof Readable ? body : Readable.from(body ?? []);
  }

  /**
   * Gives each chunk of the body to `take` as it arrives, and resolves at its end. An iterator would take several promises for each
   * token of each turn. A body that is too long fails, and so does one whose chunk `take` refuses by an error.
   */
  async read(take: (chunk: Uint8Array) => void): Promise<void> {
    const { body } = this;
    const size = new BodySize();
    // The socket may have been opened for another call: its chunks arrive in that call's async context.
    const receive = AsyncResource.bind((chunk: Uint8Array) => {
      if (body.destroyed) return;
      try {
        this.onProgress();
        size.add(chunk);
        take(chunk);
      } catch (error) {
        body.destroy(error as Error);
      }
    });
    body.on('data', receive);
    await finished(body, { writable: false });
  }

  async text(): Promise<string> {
    const chunks: Uint8Array[] = [];
    await this.read((chunk) => void chunks.push(chunk));
    return new TextDecoder().decode(Buffer.concat(chunks));
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

/** The bytes of a body, and those since its last whole event. */
class BodySize {
  #bytes = 0;
  #eventBytes = 0;

  /** @throws ModelStreamError if the body or an event of it is too long */
  add(chunk: Uint8Array): void {
    const end = endOfLastEvent(chunk);
    this.#bytes += chunk.length;
    this.#eventBytes = chunk.length - end + (end === 0 ? this.#eventBytes : 0);
    if (this.#bytes > MAX_BYTES || this.#eventBytes > MAX_EVENT_BYTES) {
      throw new ModelStreamError('The model’s answer is too long.');
    }
  }
}

/** 0 if no event ends in the chunk. An end that is split between two chunks is not found: the next event counts with it. */
function endOfLastEvent(bytes: Uint8Array): number {
  const { buffer, byteOffset, length } = bytes;
  // Most chunks are whole events.
  if (bytes[length - 1] === NEWLINE && bytes[length - 2] === NEWLINE) return length;
  const chunk = Buffer.from(buffer, byteOffset, length);
  return Math.max(...EVENT_ENDS.map((end) => chunk.lastIndexOf(end))) + 1;
}
