import { TextDecoder } from 'node:util';
import { splitsSurrogatePair } from '../../../src/platform/text.js';
import { MAX_LINE } from '../../../src/steps/shorten-result.js';

const TEXT_TYPE = /^(text\/|application\/(json|xml|csv|yaml|x-yaml|sql|javascript|x-sh|rtf|toml)|.*\+(json|xml)$)/;

type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/**
 * Detects the encoding of a text from its first bytes. Returns null if it is not text. Without a byte order mark it is
 * UTF-8 if the bytes are valid UTF-8. Else, if the media type is text, it is windows-1252, which spreadsheets still write.
 */
export function detectEncoding(start: Buffer, mimeType: string): TextEncoding | null {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  if (start.includes(0)) return null;
  if (isUtf8(start)) return 'utf-8';
  return TEXT_TYPE.test(mimeType) ? 'windows-1252' : null;
}

function isUtf8(start: Buffer): boolean {
  try {
    // As a stream, because the last character may be incomplete.
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Decodes a text and splits it into lines, a list for each chunk. A line longer than `MAX_LINE` counts as several, so that
 * paging by lines reaches all of the text. Bytes that cannot be decoded become U+FFFD; NUL is removed.
 */
export async function* decodeLines(chunks: AsyncIterable<Buffer>, encoding: TextEncoding): AsyncGenerator<string[]> {
  const decoder = new TextDecoder(encoding);
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true }).replaceAll('\0', '');
    const lines = text.split('\n').flatMap(wrap);
    rest = lines.pop()!;
    yield lines;
  }
  const lines = wrap(rest + decoder.decode());
  // A line feed at the end of the text does not start another line.
  yield lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** The pieces of a line. They end between characters, never within a surrogate pair. */
function wrap(line: string): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > MAX_LINE) {
    const end = splitsSurrogatePair(rest, MAX_LINE) ? MAX_LINE + 1 : MAX_LINE;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest];
}
