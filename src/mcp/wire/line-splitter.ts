const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

export const LINE_END = Symbol('line end');

/** Splits the bytes of an event stream into pieces of lines. A line ends with CR, LF or CR LF. */
export class LineSplitter {
  #afterReturn = false;
  #markLength = 0;

  *feed(chunk: Uint8Array): Generator<Uint8Array | typeof LINE_END> {
    let start = this.#skipMark(chunk);
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) continue;
      const isSecondHalf = byte === LINE_FEED && at === start && this.#afterReturn;
      if (at > start) yield chunk.subarray(start, at);
      if (!isSecondHalf) yield LINE_END;
      this.#afterReturn = byte === CARRIAGE_RETURN;
      start = at + 1;
    }
    if (start === chunk.length) return;
    this.#afterReturn = false;
    yield chunk.subarray(start);
  }

  #skipMark(chunk: Uint8Array): number {
    let at = 0;
    while (this.#markLength < BYTE_ORDER_MARK.length && at < chunk.length) {
      if (chunk[at] === BYTE_ORDER_MARK[this.#markLength]) {
        this.#markLength += 1;
        at += 1;
      } else this.#markLength = BYTE_ORDER_MARK.length;
    }
    return at;
  }
}
