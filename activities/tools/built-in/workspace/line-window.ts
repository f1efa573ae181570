import { truncateUtf8 } from '../../../../src/platform/text.js';
import { MAX_WHOLE_BYTES } from '../../../../src/steps/shorten-result.js';

const LINE_FEED = 10;

/** Takes the lines of a window out of a text of any size, and counts all of them. What it shows is never shortened afterwards. */
export class LineWindow {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #shown: string[] = [];
  readonly #first: number;
  readonly #last: number;
  /** Lines so far. */
  #count = 0;
  /** The begin of the next one. */
  #rest = '';
  /** Bytes of the lines that are shown, each with its line feed. */
  #bytes = 0;
  #isFull = false;
  #isText = true;

  /** @param range first and last line, counted from 1; a last one below 1: to the end */
  constructor([first, last]: [number, number]) {
    this.#first = Math.max(1, first);
    this.#last = last < 1 ? Infinity : last;
  }

  add(chunk: Buffer): void {
    if (chunk.includes(0)) this.#isText = false;
    this.#decode(chunk, true);
  }

  /** The lines, with a note where there are others; null for what is no text. */
  text(): string | null {
    this.#decode(Buffer.alloc(0), false);
    if (!this.#isText) return null;
    const end = this.#rest === '' ? '\n' : '';
    if (this.#rest !== '') this.#take(this.#rest);
    if (this.#count === 0) return '(The file is empty.)';
    if (this.#shown.length === 0) return `[The file has ${this.#count} lines; none of them is in this range.]`;
    const whole = this.#shown.join('\n') + end;
    if (this.#shown.length === this.#count && Buffer.byteLength(whole) <= MAX_WHOLE_BYTES) return whole;
    return this.#withNote();
  }

  /** Whole lines, but for one that is too long alone, and the note behind them. */
  #withNote(): string {
    const note = (last: number): string => `\n[lines ${this.#first}-${last} of ${this.#count}]`;
    const room = MAX_WHOLE_BYTES - note(this.#count).length;
    const lines = [...this.#shown];
    let bytes = this.#bytes - 1;
    while (lines.length > 1 && bytes > room) bytes -= Buffer.byteLength(lines.pop()!) + 1;
    return truncateUtf8(lines.join('\n'), room) + note(this.#first + lines.length - 1);
  }

  #decode(chunk: Buffer, stream: boolean): void {
    if (!this.#isText) return;
    try {
      const text = this.#rest + this.#decoder.decode(chunk, { stream });
      let from = 0;
      for (let at = 0; at < text.length; at += 1) {
        if (text.charCodeAt(at) !== LINE_FEED) continue;
        // Most lines of a large file are counted only.
        if (this.#isNextShown) this.#take(text.slice(from, at));
        else this.#count += 1;
        from = at + 1;
      }
      this.#rest = text.slice(from);
      // The end of a line that is too long is not shown.
      if (this.#rest.length > 2 * MAX_WHOLE_BYTES) this.#rest = this.#rest.slice(0, MAX_WHOLE_BYTES + 1);
    } catch {
      this.#isText = false;
    }
  }

  get #isNextShown(): boolean {
    return this.#count + 1 >= this.#first && this.#count < this.#last && !this.#isFull;
  }

  #take(line: string): void {
    const isShown = this.#isNextShown;
    this.#count += 1;
    if (!isShown) return;
    this.#shown.push(line);
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#isFull = this.#bytes > MAX_WHOLE_BYTES;
  }
}
