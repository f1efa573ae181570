import { MIB } from '../../../../src/platform/units.js';

const KEPT_BYTES = MIB;
const HALF = KEPT_BYTES / 2;

/** Keeps the first and the last half mebibyte of what a command writes, however much that is. */
export class OutputCollector {
  readonly #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #leftOut = 0;

  add(chunk: Buffer): void {
    const forHead = chunk.subarray(0, HALF - this.#headBytes);
    if (forHead.length > 0) {
      this.#head.push(forHead);
      this.#headBytes += forHead.length;
    }
    const rest = chunk.subarray(forHead.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Joined only when there is twice of what is kept: otherwise a flood would copy it again and again.
    if (this.#tailBytes > 2 * HALF) this.#cutTail();
  }

  /** The text of the output (docs/workspace.md, "Results"). */
  text(): string {
    if (this.#tailBytes > HALF) this.#cutTail();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#leftOut === 0) return cleanText(Buffer.concat([head, tail]));
    return `${cleanText(head)}\n[${this.#leftOut} bytes are left out here]\n${cleanText(tail)}`;
  }

  #cutTail(): void {
    const tail = Buffer.concat(this.#tail);
    this.#leftOut += tail.length - HALF;
    this.#tail = [tail.subarray(tail.length - HALF)];
    this.#tailBytes = HALF;
  }
}

/** Escape sequences of terminals: colours, cursor, titles. */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- these are control characters
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[PX^_][^\u001b]{0,4096}\u001b\\|[ -/]*[0-~])/g;
// oxlint-disable-next-line no-control-regex -- these are control characters
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text for the model and for events: no escape sequences, LF at the end of lines, U+FFFD for what is no text. */
export function cleanText(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\r\n?/g, '\n').replace(ESCAPES, '').replace(CONTROLS, '\ufffd');
}
