/** Counts Unicode code points, the unit of every limit (contract.md §1 "Characters"). */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** True if Postgres and JSON can store the text: no NUL and no lone surrogate (contract.md §1). */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Makes text from a model or a tool storable: replaces lone surrogates by U+FFFD and removes NUL. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

/** Minimum length of a secret to replace. Shorter ones would blank out ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** Replaces secrets in text from a server that received them. */
export class Redactor {
  readonly #secrets: string[];

  constructor(secrets: readonly string[]) {
    // Longest first: one secret may be a prefix of another.
    this.#secrets = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
  }

  redact(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, '[credential]'), text);
  }

  /** Length of the end of `text` that may be the start of a secret. The rest of it may come with the next piece. */
  unfinishedLength(text: string): number {
    const lengths = this.#secrets.map((secret) => {
      let length = Math.min(text.length, secret.length - 1);
      while (!text.endsWith(secret.slice(0, length))) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}

/** The longest prefix of `text` with at most `maxBytes` in UTF-8 that does not split a character. */
export function truncateUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
