import { Pauses } from './pauses.js';

/** Bytes that are looked at between two looks at the clock. */
const PIECE_BYTES = 16 * 1024;

interface Replacement {
  old: string;
  now: string;
  all: boolean;
}

/** Why nothing was replaced: the text is not there, is there `count` times, or the result would have `size` bytes. */
export type NotReplaced = { count: number } | { size: number };

/**
 * Replaces a text in UTF-8 by another one, literally, in time that is linear in all three, and in pieces.
 * @param replacement `old`, which is not empty, must be there exactly once unless `all`
 * @param maxBytes of the result
 */
export async function replaceText(
  text: Buffer,
  { old, now, all }: Replacement,
  maxBytes: number,
): Promise<{ text: Buffer; count: number } | { problem: NotReplaced }> {
  const [pattern, replacement] = [Buffer.from(old), Buffer.from(now)];
  let count = 0;
  // What is not well-formed is in no text: as bytes it would be found where a text has U+FFFD.
  if (old.isWellFormed()) await eachMatch(text, pattern, () => (count += 1));
  if (count === 0 || (count > 1 && !all)) return { problem: { count } };
  const size = text.length + count * (replacement.length - pattern.length);
  if (size > maxBytes) return { problem: { size } };
  const result = Buffer.allocUnsafe(size);
  let [from, to] = [0, 0];
  await eachMatch(text, pattern, (begin) => {
    to += text.copy(result, to, from, begin);
    to += replacement.copy(result, to);
    from = begin + pattern.length;
  });
  text.copy(result, to, from);
  return { text: result, count };
}

/**
 * Finds where a pattern is, from left to right, without overlaps (Knuth, Morris and Pratt). `indexOf` would compare a pattern of
 * 100 KiB that begins with another letter than all others at each place of a text of this letter: for minutes, in one call.
 */
async function eachMatch(text: Buffer, pattern: Buffer, onMatch: (begin: number) => void): Promise<void> {
  if (pattern.length > text.length) return;
  const pauses = new Pauses();
  const borders = await bordersOf(pattern, pauses);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (at % PIECE_BYTES === 0 && pauses.isDue) await pauses.take();
    const byte = text[at];
    while (matched > 0 && pattern[matched] !== byte) matched = borders[matched - 1]!;
    if (pattern[matched] === byte) matched += 1;
    if (matched < pattern.length) continue;
    onMatch(at + 1 - matched);
    matched = 0;
  }
}

/** For each begin of the pattern the length of its longest proper begin that is its end as well. */
async function bordersOf(pattern: Buffer, pauses: Pauses): Promise<Int32Array> {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    if (at % PIECE_BYTES === 0 && pauses.isDue) await pauses.take();
    while (length > 0 && pattern[at] !== pattern[length]) length = borders[length - 1]!;
    if (pattern[at] === pattern[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
