import { TextDecoder } from 'node:util';
import { splitsSurrogatePair } from '../../../src/platform/text.js';

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
 * Converts text to UTF-8 and splits lines longer than `maxLine` characters, so that paging by lines reaches all of the
 * text. Bytes that cannot be decoded become U+FFFD; NUL is removed.
 */
export async function* toUtf8Lines(
  chunks: AsyncIterable<Buffer>,
  encoding: TextEncoding,
  maxLine: number,
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  const wrap = lineWrapper(maxLine);
  for await (const chunk of chunks) yield Buffer.from(wrap(decoder.decode(chunk, { stream: true })));
  yield Buffer.from(wrap(decoder.decode()));
}

function lineWrapper(maxLine: number): (text: string) => string {
  let column = 0;
  return (text) => {
    let wrapped = '';
    for (const [index, piece] of text.replaceAll('\0', '').split('\n').entries()) {
      if (index > 0) {
        wrapped += '\n';
        column = 0;
      }
      let rest = piece;
      while (column + rest.length > maxLine) {
        const room = endOfCharacter(rest, maxLine - column);
        wrapped += `${rest.slice(0, room)}\n`;
        rest = rest.slice(room);
        column = 0;
      }
      wrapped += rest;
      column += rest.length;
    }
    return wrapped;
  };
}

/** Splits only between characters, never within a surrogate pair. */
function endOfCharacter(text: string, end: number): number {
  return end < text.length && splitsSurrogatePair(text, end) ? end + 1 : end;
}
