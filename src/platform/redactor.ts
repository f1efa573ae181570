import { setImmediate } from 'node:timers/promises';
import { SecretSearch, type Span } from './secret-search.js';

/** Minimum length of a secret to replace. Shorter ones would blank out ordinary words. */
const MIN_SECRET_LENGTH = 8;
const REPLACEMENT = '[credential]';
/** V8 searches for a text of this length in linear time. */
const PREFIX_LENGTH = 6;
/** How much of a long text is searched in one piece, without other work in between. */
const PIECE_LENGTH = 256 * 1024;

/** Replaces secrets in text from a server that received them. The time grows with the length of the text alone. */
export class Redactor {
  readonly #secrets: readonly string[];
  readonly #prefixes: readonly string[];
  #search: SecretSearch | undefined;

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH);
    this.#prefixes = [...new Set(this.#secrets.map((secret) => secret.slice(0, PREFIX_LENGTH)))];
  }

  /** Redacts a text. Overlapping secrets become one replacement. */
  redact(text: string): string {
    // Each token of a model passes here: most have no secret.
    return this.#firstPrefix(text) === -1 ? text : [...this.#pieces(text)].join('');
  }

  /** As `redact`, for long texts: other work runs in between. */
  async redactLong(text: string): Promise<string> {
    const pieces: string[] = [];
    for (const piece of this.#pieces(text)) {
      pieces.push(piece);
      if (text.length > PIECE_LENGTH) await setImmediate();
    }
    return pieces.join('');
  }

  /**
   * Redacts the beginning of a text, at least `length` characters of it where no secret is near its end. It reads no
   * more than that and the longest secret.
   */
  redactStart(text: string, length: number): string {
    const longest = Math.max(0, ...this.#secrets.map((secret) => secret.length));
    if (text.length <= length + longest) return this.redact(text);
    const start = text.slice(0, length + longest);
    return [...this.#pieces(start, start.length - this.unfinishedLength(start))].join('');
  }

  /** Length of the end of `text` that may be the start of a secret. The rest of it may come with the next piece. */
  unfinishedLength(text: string): number {
    if (this.#secrets.length === 0) return 0;
    const search = (this.#search ??= new SecretSearch(this.#secrets));
    const longest = Math.max(...this.#secrets.map((secret) => secret.length));
    let node = 0;
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at += 1) {
      node = search.next(node, text.charCodeAt(at));
    }
    return search.depth(node);
  }

  /** Yields the redacted text up to `last` in order, after each piece of the text. A secret that goes beyond it is left out, from its start. */
  *#pieces(text: string, last = text.length): Generator<string, void> {
    const first = this.#firstPrefix(text);
    if (first === -1) {
      yield text.slice(0, last);
      return;
    }
    const search = (this.#search ??= new SecretSearch(this.#secrets));
    const spans: Span[] = [];
    let done = 0;
    const upTo = (end: number): string => {
      const parts: string[] = [];
      let taken = 0;
      for (const span of spans) {
        if (span.end > end) break;
        parts.push(text.slice(done, span.start), REPLACEMENT);
        done = span.end;
        taken += 1;
      }
      spans.splice(0, taken);
      const clear = Math.min(end, spans[0]?.start ?? end);
      parts.push(text.slice(done, clear));
      done = clear;
      return parts.join('');
    };
    let node = 0;
    for (let at = first; at < text.length; at += 1) {
      node = search.next(node, text.charCodeAt(at));
      const length = search.found(node);
      if (length > 0) addSpan(spans, { start: at + 1 - length, end: at + 1 });
      // What a secret that has begun may still cover is not final.
      if ((at + 1) % PIECE_LENGTH === 0) yield upTo(at + 1 - search.depth(node));
    }
    yield upTo(last);
  }

  #firstPrefix(text: string): number {
    let first = -1;
    for (const prefix of this.#prefixes) {
      const place = text.indexOf(prefix);
      if (place !== -1 && (first === -1 || place < first)) first = place;
    }
    return first;
  }
}

/** Adds a span that ends after all others, and joins it with those that it overlaps. */
function addSpan(spans: Span[], { start, end }: Span): void {
  let from = start;
  for (let last = spans.at(-1); last !== undefined && last.end > from; last = spans.at(-1)) {
    from = Math.min(from, last.start);
    spans.pop();
  }
  spans.push({ start: from, end });
}
