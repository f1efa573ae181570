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

/** Text for the model and for events: no escape sequences, LF at the end of lines, U+FFFD for what is no text. */
export function cleanText(bytes: Buffer): string {
  return withoutControls(withoutCarriageReturns(bytes.toString('utf8')).replace(ESCAPES, ''));
}

// oxlint-disable-next-line no-control-regex -- these are control characters
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const [TAB, LINE_FEED, CARRIAGE_RETURN] = [9, 10, 13];

/*
 * A million matches of a regular expression would take a tenth of a second of the event loop: what may be in each place is changed
 * character by character.
 */

function withoutCarriageReturns(text: string): string {
  if (!text.includes('\r')) return text;
  return mapUnits(text, (unit, at) => {
    if (unit !== CARRIAGE_RETURN) return unit;
    return text.charCodeAt(at + 1) === LINE_FEED ? null : LINE_FEED;
  });
}

function withoutControls(text: string): string {
  if (!CONTROL.test(text)) return text;
  const isControl = (unit: number): boolean =>
    (unit < 0x20 && unit !== TAB && unit !== LINE_FEED) || (unit >= 0x7f && unit <= 0x9f);
  return mapUnits(text, (unit) => (isControl(unit) ? 0xfffd : unit));
}

/** @param map returns null for a unit that is left out */
function mapUnits(text: string, map: (unit: number, at: number) => number | null): string {
  const units = new Uint16Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = map(text.charCodeAt(at), at);
    if (unit === null) continue;
    units[length] = unit;
    length += 1;
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString('utf16le');
}
