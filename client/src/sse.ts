/** @internal What a stream of Server-Sent Events can say. */
export type SseItem = { kind: 'frame'; id: string; data: string } | { kind: 'retry'; ms: number };

/** @internal Reads frames and `retry` lines (WHATWG "Server-sent events") as they arrive; the rest is skipped. */
export class SseParser {
  #decoder = new TextDecoder();
  #rest = '';
  #data: string[] = [];
  #id = '';

  /** What is complete after this chunk. */
  *push(chunk: Uint8Array): Generator<SseItem, void> {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    // A CR at the end may be the first half of a CRLF.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop()!;
    for (const line of lines) yield* this.#take(line);
  }

  *#take(line: string): Generator<SseItem, void> {
    if (line === '') {
      if (this.#data.length > 0) yield { kind: 'frame', id: this.#id, data: this.#data.join('\n') };
      this.#data = [];
      return;
    }
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (name === 'data') this.#data.push(value!);
    else if (name === 'id' && !value!.includes('\0')) this.#id = value!;
    else if (name === 'retry' && /^\d+$/.test(value!)) yield { kind: 'retry', ms: Number(value) };
  }
}
