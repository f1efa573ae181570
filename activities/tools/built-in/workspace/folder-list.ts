import { truncateUtf8 } from '../../../../src/platform/text.js';
import { MAX_WHOLE_BYTES } from '../../../../src/steps/shorten-result.js';

/** Lists the entries of a folder, one a line, from their names, each with a NUL behind it. What does not fit is only counted. */
export class FolderList {
  readonly #lines: string[] = [];
  #bytes = 0;
  #count = 0;
  #rest: Buffer = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const names = Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end; (end = names.indexOf(0, from)) >= 0; from = end + 1) this.#take(names, from, end);
    this.#rest = names.subarray(from);
  }

  text(): string {
    if (this.#count === 0) return '(The folder is empty.)';
    const text = this.#lines.join('\n');
    if (this.#lines.length === this.#count && Buffer.byteLength(text) <= MAX_WHOLE_BYTES) return text;
    const note = (shown: number): string => `[${shown} of ${this.#count} entries]`;
    const shown = truncateUtf8(text, MAX_WHOLE_BYTES - note(this.#count).length)
      .split('\n')
      .slice(0, -1);
    return [...shown, note(shown.length)].join('\n');
  }

  #take(names: Buffer, from: number, end: number): void {
    this.#count += 1;
    if (this.#bytes > MAX_WHOLE_BYTES) return;
    // A name has one line.
    const line = names.toString('utf8', from, end).replace(/\p{Cc}/gu, '?');
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#lines.push(line);
  }
}
