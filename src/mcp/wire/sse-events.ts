import { JsonScan } from '../../platform/json-scan.js';
import { LINE_END, LineSplitter } from './line-splitter.js';

const COLON = 0x3a;
const SPACE = 0x20;
const NEWLINE = Uint8Array.of(0x0a);
const FIELDS = ['data', 'event', 'id', 'retry'] as const;
type Field = (typeof FIELDS)[number];
const MAX_NAME_LENGTH = 5;
/** A longer id or event name is ignored. An id becomes a header when the stream is resumed. */
const MAX_SHORT_FIELD = 1024;

export interface SseEvent {
  id: string;
  event: string;
  retry: string;
  /** Null if the event has no data, or data beyond the limits. */
  data: string | null;
  /** Length of the data in bytes, and its JSON values. */
  bytes: number;
  values: number;
}

export interface EventLimits {
  bytes: number;
  values: number;
  /** Runs when an event exceeds the limits or is a JSON array. Unless it throws, the event's data is dropped. */
  onExceeded: (isArray: boolean) => void;
}

/**
 * Splits an event stream into its events, in time that grows only with its bytes. It counts the JSON values of an event
 * while its bytes arrive.
 */
export class SseEvents {
  readonly #lines = new LineSplitter();
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #event: Omit<SseEvent, 'data' | 'values'> = { id: '', event: '', retry: '', bytes: 0 };
  #scan = new JsonScan();
  #pieces: string[] = [];
  #dataLines = 0;
  #isEmpty = true;
  #isDropped = false;
  #name = '';
  #field: Field | 'ignored' | null = null;
  #value = '';
  #lineLength = 0;
  #atValueStart = false;

  constructor(private readonly limits: EventLimits) {}

  /** The data of the event that has not ended yet. */
  get pending(): { bytes: number; values: number } {
    return { bytes: this.#event.bytes, values: this.#scan.values };
  }

  *feed(chunk: Uint8Array): Generator<SseEvent> {
    for (const piece of this.#lines.feed(chunk)) {
      if (piece !== LINE_END) this.#addToLine(piece);
      else if (this.#lineLength > 0) this.#endLine();
      else if (!this.#isEmpty) yield this.#endEvent();
    }
  }

  #addToLine(bytes: Uint8Array): void {
    this.#lineLength += bytes.length;
    let value = bytes;
    if (this.#field === null) {
      const colon = bytes.indexOf(COLON);
      const name = colon === -1 ? bytes : bytes.subarray(0, colon);
      if (this.#name.length <= MAX_NAME_LENGTH) this.#name += latin1Of(name.subarray(0, MAX_NAME_LENGTH + 1));
      if (colon === -1) return;
      this.#beginValue();
      value = bytes.subarray(colon + 1);
    }
    if (value.length === 0) return;
    if (this.#atValueStart && value[0] === SPACE) value = value.subarray(1);
    this.#atValueStart = false;
    if (this.#field === 'data') this.#addData(value);
    else if (this.#field !== 'ignored' && this.#value.length <= MAX_SHORT_FIELD) this.#value += latin1Of(value);
  }

  #beginValue(): void {
    this.#field = FIELDS.find((field) => field === this.#name) ?? 'ignored';
    this.#atValueStart = true;
    if (this.#field !== 'data') return;
    if (this.#dataLines > 0) this.#addData(NEWLINE);
    this.#dataLines += 1;
  }

  #addData(bytes: Uint8Array): void {
    this.#event.bytes += bytes.length;
    if (this.#isDropped) return;
    this.#scan.feed(bytes);
    // Each line costs as much as a value.
    const values = this.#scan.values + this.#dataLines;
    if (this.#scan.isArray || values > this.limits.values + 1 || this.#event.bytes > this.limits.bytes) {
      this.limits.onExceeded(this.#scan.isArray);
      this.#isDropped = true;
      this.#pieces = [];
      return;
    }
    this.#push(this.#decoder.decode(bytes, { stream: true }));
  }

  #push(text: string): void {
    if (text !== '') this.#pieces.push(text);
  }

  #endLine(): void {
    if (this.#field === null) this.#beginValue();
    if (this.#field === 'data') this.#push(this.#decoder.decode());
    else if (this.#field !== 'ignored' && this.#field !== null) {
      const isKept = this.#value.length <= MAX_SHORT_FIELD;
      this.#event[this.#field] = isKept ? Buffer.from(this.#value, 'latin1').toString() : '';
    }
    this.#isEmpty = false;
    this.#name = '';
    this.#field = null;
    this.#value = '';
    this.#lineLength = 0;
  }

  #endEvent(): SseEvent {
    const hasData = this.#dataLines > 0 && !this.#isDropped;
    const event = { ...this.#event, data: hasData ? this.#pieces.join('') : null, values: this.#scan.values };
    this.#event = { id: '', event: '', retry: '', bytes: 0 };
    this.#scan = new JsonScan();
    this.#pieces = [];
    this.#dataLines = 0;
    this.#isEmpty = true;
    this.#isDropped = false;
    return event;
  }
}

/** One character for each byte: a piece may end within a character of UTF-8. */
function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
