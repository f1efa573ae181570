import { isDeepStrictEqual } from 'node:util';
import { exactText, parseExact } from '../platform/exact-json.js';
import { isJsonObject } from '../platform/json-object.js';
import { scanJson } from '../platform/json-scan.js';
import { isDeeperThan } from '../platform/depth.js';
import { MIB } from '../platform/units.js';

/** Comparing and formatting are recursive. */
const MAX_STRUCTURED_DEPTH = 100;
/** Structured result of a call as compact JSON. */
const MAX_STRUCTURED_BYTES = MIB;

/** A shorter value stays where a text says the same: its name tells the model more than the copy costs. */
const MIN_LEFT_OUT_CHARACTERS = 200;

/** The structured result as compact JSON, without what the texts say; null if they say all. */
export function structuredText(structured: unknown, texts: readonly string[]): string | null {
  if (structured === undefined || structured === null) return null;
  if (isDeeperThan(MAX_STRUCTURED_DEPTH, structured)) return shownJson(structured, 'structured result');
  if (isSaidBy(structured, texts)) return null;
  const rest = withoutTexts(
    structured,
    new Set([...texts, texts.join('\n'), texts.join('')].map((text) => text.trim())),
  );
  const json = exactText(rest);
  if (json === '{}' && exactText(structured) !== json) return null;
  return limitedJson(json, 'structured result', MAX_STRUCTURED_BYTES);
}

/** Any value as compact JSON. `what` names one that is too deep or too long to show. */
export function shownJson(value: unknown, what: string, maxBytes = MAX_STRUCTURED_BYTES): string {
  if (isDeeperThan(MAX_STRUCTURED_DEPTH, value))
    return `[${what} nested deeper than ${MAX_STRUCTURED_DEPTH} levels: cannot be shown to you]`;
  return limitedJson(exactText(value), what, maxBytes);
}

function limitedJson(json: string, what: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(json);
  return bytes <= maxBytes ? json : `[${what} of ${bytes} bytes left out: at most ${maxBytes} are shown to you]`;
}

/**
 * True if a text says the same: it is the JSON, as the protocol recommends, or the only value, as in `{"content": T}` and
 * `{"result": T}`. Servers also send the items of a list as texts of their own.
 */
function isSaidBy(structured: unknown, texts: readonly string[]): boolean {
  const whole = texts.length > 1 ? [...texts, texts.join('\n'), texts.join('')] : texts;
  return valuesToCompare(structured).some((value) => {
    if (whole.some(saysTheSame(value))) return true;
    const isList = Array.isArray(value) && value.length > 0 && value.length === texts.length;
    return isList && value.every((item, at) => saysTheSame(item)(texts[at]!));
  });
}

/** Leaves the long strings that are equal to a text out of the objects in `value`. */
function withoutTexts(value: unknown, texts: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, texts));
  if (!isJsonObject(value)) return value;
  const rest = Object.entries(value).filter(([, inner]) => !isLongText(inner) || !texts.has(inner.trim()));
  return Object.fromEntries(rest.map(([key, inner]) => [key, withoutTexts(inner, texts)]));
}

function isLongText(value: unknown): value is string {
  return typeof value === 'string' && value.length >= MIN_LEFT_OUT_CHARACTERS;
}

/** The value, and the only one in it. */
function valuesToCompare(structured: unknown): unknown[] {
  const inner = isJsonObject(structured) ? Object.values(structured) : [];
  return inner.length === 1 ? [structured, inner[0]] : [structured];
}

/** A text of other JSON is not parsed: it may have millions of values. */
function saysTheSame(value: unknown): (text: string) => boolean {
  const { values } = scanJson(exactText(value));
  return (text) => {
    if (typeof value === 'string' && text.trim() === value.trim()) return true;
    if (scanJson(text).values !== values) return false;
    try {
      return isDeepStrictEqual(parseExact(text), value);
    } catch {
      return false;
    }
  };
}
