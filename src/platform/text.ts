/** Counts Unicode code points, the unit of every limit (decisions.md "HTTP", "Characters"). */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** True if Postgres and JSON can store the text: no NUL and no lone surrogate (decisions.md "HTTP"). */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

const REPLACEMENT = '\ufffd';
/** The escape sequences of a JSON text, so that a backslash that is escaped itself begins none. */
const ESCAPES = /\\(?:u[\da-f]{4}|.)/gi;
const UNSTORABLE_ESCAPE = /^\\u(?:0000|d[89a-f][\da-f]{2})$/i;

/** Makes text from a model or a tool storable: replaces NUL and lone surrogates by U+FFFD. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/**
 * The same for all texts of a value, keys included, on its JSON as `JSON.stringify` writes it: NUL and lone surrogates are escaped
 * there, and nothing else that this replaces. Postgres stores such an escape in a `json` column, and fails when it takes that JSON apart.
 */
export function storableJson(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(ESCAPES, (escape) => (UNSTORABLE_ESCAPE.test(escape) ? REPLACEMENT : escape));
}

/** Control and format characters (writing direction, zero width) and line ends: a name shows as another one. */
export const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** The text without control characters, line ends and marks of the writing direction, with which it could show as another text. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, '');
}

const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * True if a text for a person has control characters other than tabs and line ends, or overrides of the writing direction,
 * with which it shows as another text. Other format characters are part of honest texts, such as those of emoji.
 */
export function hidesText(text: string): boolean {
  return HIDING.test(text);
}

const HIDING = /(?![\t\n\r])\p{Cc}|[\u202D\u202E]/u;

/** Decodes UTF-8; null if the bytes are not valid. A byte order mark is dropped unless `keepMark`. */
export function decodeUtf8(bytes: Uint8Array, { keepMark = false } = {}): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: keepMark }).decode(bytes);
  } catch {
    return null;
  }
}

/** True if `text` up to `end` ends within a surrogate pair, whose second half comes after it. */
export function splitsSurrogatePair(text: string, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** The longest prefix of `text` with at most `maxBytes` in UTF-8 that does not split a character. */
export function truncateUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
