import type { StreamFrame } from './types.js';

/** @internal A frame, a `retry` line or a comment (a ping) of an event stream. The data also contains the type of an event. */
export type SseItem =
  | ({ kind: 'frame' } & Pick<StreamFrame, 'id' | 'data'>)
  | { kind: 'retry'; ms: number }
  | { kind: 'ping' };

/** @internal Parses frames and `retry` lines (WHATWG "Server-sent events") as they arrive. Other fields are skipped. */
export class SseParser {
  #decoder = new TextDecoder();
  /** The incomplete last line. */
  #line = '';
  #endedInCr = false;
  #data: string[] = [];
  #id = '';

  /** Adds a chunk and returns the complete items. */
  *push(chunk: Uint8Array): Generator<SseItem, void> {
    const decoded = this.#decoder.decode(chunk, { stream: true });
    if (decoded === '') return;
    // A CR at the end may be the first half of a CRLF: wait for the next chunk.
    const text = this.#endedInCr ? `\r${decoded}` : decoded;
    this.#endedInCr = text.endsWith('\r');
    const ends = (this.#endedInCr ? text.slice(0, -1) : text).split(/\r\n|\n|\r/);
    // Search only the new text: a line may have megabytes in thousands of chunks.
    const begun = ends.pop()!;
    for (const end of ends) {
      const line = this.#line + end;
      this.#line = '';
      yield* this.#take(line);
    }
    this.#line += begun;
  }

  *#take(line: string): Generator<SseItem, void> {
    if (line === '') {
      if (this.#data.length > 0) yield { kind: 'frame', id: this.#id, data: this.#data.join('\n') };
      this.#data = [];
      return;
    }
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (name === 'data') this.#data.push(value!);
    else if (line.startsWith(':')) yield { kind: 'ping' };
    else if (name === 'id' && !value!.includes('\0')) this.#id = value!;
    else if (name === 'retry' && /^\d+$/.test(value!)) yield { kind: 'retry', ms: Number(value) };
  }
}
