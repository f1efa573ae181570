/**
 * JSON whose numbers keep their digits. JavaScript changes 1189238471982374913 to 1189238471982375000. `parseExact` turns
 * such a number into a string: a mark that is random per process and never sent, then the number as it was written.
 * `exactText` and `restoreNumbers` write it as a number again. So the value passes unchanged through code, SDKs included,
 * that knows only JSON.
 * The console uses this module, too.
 */
const MARK = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
  '',
);
const MARKED = new RegExp(`"${MARK}([-+.\\deE]+)"`, 'g');
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** A text without this has only numbers that JavaScript keeps. */
const MAY_CHANGE = /[\d.]{16}|\d[eE][+-]?\d{3}/;
/** Every decimal number with so many significant digits has a JavaScript number of its own. */
const SAFE_DIGITS = 15;

/** As `JSON.parse`, whose `value` is used if no number needs a mark. @throws SyntaxError */
export function parseExact(text: string, value: unknown = JSON.parse(text)): unknown {
  return MAY_CHANGE.test(text) ? JSON.parse(markNumbers(text)) : value;
}

/** As `JSON.stringify` for a value of `parseExact`: every number is as it was written. */
export function exactText(value: unknown, indent?: number): string {
  return restoreNumbers(JSON.stringify(value, null, indent));
}

/** Replaces the marked strings in a JSON text by their numbers. */
export function restoreNumbers(json: string): string {
  return json.includes(MARK) ? json.replace(MARKED, '$1') : json;
}

/** True for a number of `parseExact`, which has the type of a string. */
export function isMarkedNumber(value: string): boolean {
  return value.startsWith(MARK);
}

/** Strings stay as they are. */
function markNumbers(text: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    pieces.push(text.slice(at, end).replace(NUMBER, (number) => (isKept(number) ? number : `"${MARK}${number}"`)));
    at = quote === -1 ? end : endOfString(text, quote);
    pieces.push(text.slice(end, at));
  }
  return pieces.join('');
}

function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** True for a longer integer that came through JSON.parse: what arrived may not be what was written. */
export function losesDigits(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** True if JavaScript keeps the number's value, and an integer's digits. */
function isKept(number: string): boolean {
  const value = Number(number);
  if (String(value) === number) return true;
  if (/^-?\d+$/.test(number)) return Number.isSafeInteger(value);
  const [mantissa = ''] = number.split(/[eE]/);
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '');
  if (digits === '') return true;
  return digits.length <= SAFE_DIGITS && Number.isFinite(value) && value !== 0;
}
