/** Length in Unicode code points, the unit of every limit (contract.md §1 "Characters"). */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** True when Postgres and JSON can carry the text: no NUL and no lone surrogate (contract.md §1). */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Text of a model or a tool made storable: lone surrogates become U+FFFD, NUL goes. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

/** Shorter secrets would blank out ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** Replaces secrets in the text of a server that was sent them. */
export class Redactor {
  readonly #secrets: string[];

  constructor(secrets: readonly string[]) {
    // Longest first: one secret may be the beginning of another.
    this.#secrets = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
  }

  redact(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, '[credential]'), text);
  }

  /** Length of the end of `text` that may be the beginning of a secret, of which the rest is still to come. */
  unfinishedLength(text: string): number {
    const lengths = this.#secrets.map((secret) => {
      let length = Math.min(text.length, secret.length - 1);
      while (!text.endsWith(secret.slice(0, length))) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}

/** The longest prefix of `text` that takes at most `maxBytes` in UTF-8 and cuts no character. */
export function truncateUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
