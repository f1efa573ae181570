import { text } from 'node:stream/consumers';
import { MIB } from '../../src/platform/units.js';
import { ModelStreamError } from './failures.js';

/** 128,000 tokens, each in an event of its own, take 20 MiB. */
const MAX_BYTES = 32 * MIB;
/** An event is kept and parsed as a whole. */
const MAX_EVENT_BYTES = 4 * MIB;
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];

export type Answered = Pick<Response, 'url' | 'status' | 'headers'> & { body: AsyncIterable<Uint8Array> | null };

/** The part of a `Response` that the SDKs use. A body that is too long fails. */
export class ModelResponse {
  readonly url: string;
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;

  constructor({ url, status, headers, body }: Answered, onProgress: () => void) {
    this.url = url;
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.headers = headers;
    this.body = bounded(body ?? [], onProgress);
  }

  text(): Promise<string> {
    return text(this.body);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

async function* bounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onProgress: () => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let eventBytes = 0;
  for await (const chunk of body) {
    onProgress();
    bytes += chunk.length;
    const end = endOfLastEvent(chunk);
    eventBytes = chunk.length - end + (end === 0 ? eventBytes : 0);
    if (bytes > MAX_BYTES || eventBytes > MAX_EVENT_BYTES)
      throw new ModelStreamError('The model’s answer is too long.');
    yield chunk;
  }
}

/** 0 if no event ends in the chunk. An end that is split between two chunks is not found: the next event counts with it. */
function endOfLastEvent({ buffer, byteOffset, length }: Uint8Array): number {
  const chunk = Buffer.from(buffer, byteOffset, length);
  return Math.max(...EVENT_ENDS.map((end) => chunk.lastIndexOf(end))) + 1;
}
