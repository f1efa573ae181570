import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AnswerRefusedError } from './errors.js';

/** The parser makes an error with a stack for each line that is no field of an event: 5 µs for a line of two bytes. */
const MAX_OTHER_LINES = 1000;

interface EventReaderOptions {
  onRetry: (ms: number) => void;
  /** An event with more characters is dropped. Undefined: the body of the stream is limited. */
  maxLength?: number | undefined;
}

/** Splits the bytes of an event stream into its events, in time that grows only with the bytes. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #events: EventSourceMessage[] = [];
  readonly #feed: (text: string) => void;
  #last = '';
  #pending = 0;
  #otherLines = 0;

  constructor({ onRetry, maxLength }: EventReaderOptions) {
    const parser = createParser({
      onEvent: (event) => this.#events.push(event),
      onRetry,
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') return parser.reset();
        this.#otherLines += 1;
        if (this.#otherLines > MAX_OTHER_LINES)
          throw new AnswerRefusedError(
            `its event stream has more than ${MAX_OTHER_LINES.toLocaleString('en')} lines that belong to no event`,
          );
      },
      maxBufferSize: maxLength,
    });
    this.#feed = (text) => parser.feed(text);
  }

  /** Bytes of the event that has not ended yet. */
  get pending(): number {
    return this.#pending;
  }

  /** The events that end in this piece. @throws AnswerRefusedError if too many lines belong to no event */
  feed(piece: Uint8Array): EventSourceMessage[] {
    const text = this.#decoder.decode(piece, { stream: true });
    const isSecondHalf = this.#last === '\r' && text.startsWith('\n');
    // The parser is fast with LF alone: with a CR, it searches the rest of the text for one at each line.
    const lines = (isSecondHalf ? text.slice(1) : text).replace(/\r\n?/g, '\n');
    const known = `${this.#last === '\r' ? '\n' : this.#last}${lines}`;
    const end = known.lastIndexOf('\n\n');
    this.#pending = end === -1 ? this.#pending + piece.length : Buffer.byteLength(known.slice(end + 2));
    this.#last = text.at(-1) ?? this.#last;
    this.#feed(lines);
    return this.#events.splice(0);
  }
}
