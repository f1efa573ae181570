const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
const FIRST_NON_ASCII = 0x80;

/**
 * Counts the values of a JSON text while its bytes arrive, so that a text with too many values is never parsed: a parsed
 * value takes up to 100 bytes of memory, and `{},` takes three. The count is exact up to the first syntax error, where
 * `JSON.parse` stops as well.
 */
export class JsonScan {
  #values = 0;
  #isArray = false;
  #inString = false;
  #isEscaped = false;
  #hasOpened = false;

  /** The values so far. Keys do not count. */
  get values(): number {
    return this.#values;
  }

  get isArray(): boolean {
    return this.#isArray;
  }

  feed(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      if (byte <= SPACE) continue;
      if (this.#values === 0) {
        // A byte order mark is no part of the text.
        if (byte >= FIRST_NON_ASCII) continue;
        this.#values = 1;
        this.#isArray = byte === OPEN_LIST;
      } else if (this.#hasOpened && byte !== CLOSE_LIST && byte !== CLOSE_OBJECT) {
        this.#values += 1;
      }
      this.#hasOpened = byte === OPEN_LIST || byte === OPEN_OBJECT;
      if (byte === QUOTE) this.#inString = true;
      else if (byte === COMMA) this.#values += 1;
    }
  }
}

/** Characters that are scanned at once, so that no second copy of a large text is made. */
const PIECE = 64 * 1024;

export function scanJson(text: string): Pick<JsonScan, 'values' | 'isArray'> {
  const scan = new JsonScan();
  for (let at = 0; at < text.length; at += PIECE) scan.feed(Buffer.from(text.slice(at, at + PIECE)));
  return scan;
}
