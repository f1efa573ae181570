import { isDeepStrictEqual } from 'node:util';
import { JsonScan } from '../../../src/platform/json-scan.js';
import { isDeeperThan } from '../../../src/platform/depth.js';
import { MIB } from '../../../src/platform/units.js';

/** Comparing and formatting are recursive. */
const MAX_STRUCTURED_DEPTH = 100;
/** Structured result of a call as compact JSON. */
const MAX_STRUCTURED_BYTES = MIB;

/** The structured result as compact JSON; null if one of the texts is the same JSON, as the protocol recommends. */
export function structuredText(structured: unknown, texts: readonly string[]): string | null {
  if (structured === undefined || structured === null) return null;
  if (isDeeperThan(MAX_STRUCTURED_DEPTH, structured)) {
    return `[structured result nested deeper than ${MAX_STRUCTURED_DEPTH} levels: cannot be shown to you]`;
  }
  const json = JSON.stringify(structured);
  const values = valuesOf(json);
  if (texts.some((text) => isSameJson(text, structured, values))) return null;
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_STRUCTURED_BYTES) return json;
  return `[structured result of ${bytes} bytes left out: at most ${MAX_STRUCTURED_BYTES} are shown to you]`;
}

/** A text of other JSON is not parsed: it may have millions of values. */
function isSameJson(text: string, structured: unknown, values: number): boolean {
  if (!/^\s*[[{]/.test(text) || valuesOf(text) !== values) return false;
  try {
    return isDeepStrictEqual(JSON.parse(text), structured);
  } catch {
    return false;
  }
}

function valuesOf(json: string): number {
  const scan = new JsonScan();
  scan.feed(Buffer.from(json));
  return scan.values;
}
