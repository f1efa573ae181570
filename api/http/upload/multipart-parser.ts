import { ServiceError } from '../../../src/platform/errors.js';

/** Receives the parts of a multipart body. An exception ends the parsing. */
interface PartHandler {
  /** A part begins. `header` is its header block, in latin1. */
  onHeader(header: string): void;
  onContent(content: Buffer): void;
  onEnd(): void;
}

/** Limits of docs/decisions.md "Limits of work" and RFC 2046 §5.1.1. Browsers send boundaries of 40 characters, headers of 200. */
const MAX_PART_HEADER_BYTES = 16 * 1024;
export const MAX_BOUNDARY_LENGTH = 70;

const CR = 13;
const LF = 10;
const DASH = 45;
const LINE_END = Buffer.from('\r\n');
const EMPTY = Buffer.alloc(0);
const HEADER_END = Buffer.from('\r\n\r\n');

/**
 * Splits a multipart body at its boundary (RFC 2046 §5.1). The work is linear in the bytes, whatever they are: Node's
 * own search finds the boundary, and content is passed on in pieces as large as the chunks that arrive.
 */
export class MultipartParser {
  readonly #delimiter: Buffer;
  /** Bytes whose meaning depends on the bytes after them. The first boundary needs no line end before it. */
  #rest: Buffer = LINE_END;
  #state: 'preamble' | 'header' | 'content' | 'epilogue' = 'preamble';

  constructor(
    boundary: string,
    private readonly handler: PartHandler,
  ) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** @throws ServiceError `bad_request` for a header that is too large, and whatever the handler throws */
  push(chunk: Buffer): void {
    let bytes: Buffer | null = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes !== null) {
      if (this.#state === 'epilogue') bytes = this.#keep(EMPTY);
      else bytes = this.#state === 'header' ? this.#readHeader(bytes) : this.#readContent(bytes);
    }
  }

  /** @throws ServiceError `bad_request` if the closing boundary is missing */
  end(): void {
    if (this.#state !== 'epilogue') throw brokenBody();
  }

  /** Returns the bytes after the header block; null if more must arrive. `bytes` begins with a line end. */
  #readHeader(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(HEADER_END);
    if ((end === -1 ? bytes.length : end) > LINE_END.length + MAX_PART_HEADER_BYTES) {
      throw new ServiceError(
        'bad_request',
        `The headers of a part are larger than ${MAX_PART_HEADER_BYTES} bytes. Send Content-Disposition and Content-Type only.`,
      );
    }
    if (end === -1) return this.#keep(bytes);
    this.#state = 'content';
    this.handler.onHeader(bytes.toString('latin1', LINE_END.length, Math.max(end, LINE_END.length)));
    return bytes.subarray(end + HEADER_END.length);
  }

  /** Returns the bytes after the next boundary; null if more must arrive. */
  #readContent(bytes: Buffer): Buffer | null {
    for (let at = bytes.indexOf(this.#delimiter); at !== -1; at = bytes.indexOf(this.#delimiter, at + 1)) {
      const after = at + this.#delimiter.length;
      if (after + 2 > bytes.length) return this.#passOn(bytes, at);
      const isLast = bytes[after] === DASH && bytes[after + 1] === DASH;
      // With other characters after it, the boundary is content.
      if (!isLast && !(bytes[after] === CR && bytes[after + 1] === LF)) continue;
      this.#emit(bytes.subarray(0, at));
      if (this.#state === 'content') this.handler.onEnd();
      this.#state = isLast ? 'epilogue' : 'header';
      return bytes.subarray(after);
    }
    return this.#passOn(bytes, this.#startOfDelimiter(bytes));
  }

  /** Where a boundary begins that the end of the bytes cuts off. It has one CR, its first byte. */
  #startOfDelimiter(bytes: Buffer): number {
    const at = bytes.lastIndexOf(CR);
    const length = bytes.length - at;
    if (at === -1 || length > this.#delimiter.length) return bytes.length;
    return bytes.subarray(at).equals(this.#delimiter.subarray(0, length)) ? at : bytes.length;
  }

  /** Passes the bytes before `end` on and keeps the others. */
  #passOn(bytes: Buffer, end: number): null {
    this.#emit(bytes.subarray(0, end));
    return this.#keep(bytes.subarray(end));
  }

  #keep(bytes: Buffer): null {
    this.#rest = bytes;
    return null;
  }

  #emit(content: Buffer): void {
    if (this.#state === 'content' && content.length > 0) this.handler.onContent(content);
  }
}

export function brokenBody(): ServiceError {
  return new ServiceError('bad_request', 'The multipart body is malformed or incomplete.');
}
