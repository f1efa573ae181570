import { exactText, parseExact } from '../../../src/platform/exact-json.js';

/** A text that is JSON, with lines and indents; any other text as it is. */
export function prettyJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return exactText(parseExact(text), 2);
  } catch {
    return text;
  }
}
