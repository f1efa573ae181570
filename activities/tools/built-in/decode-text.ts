import { TextDecoder } from 'node:util';

const TEXT_TYPE = /^(text\/|application\/(json|xml|csv|yaml|x-yaml|sql|javascript|x-sh|rtf|toml)|.*\+(json|xml)$)/;

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/**
 * The encoding of a text by its first bytes, null for what is no text. Without a byte order mark it is UTF-8 if it can
 * be; else, in a file whose type says text, the single bytes that spreadsheets and old tools still write.
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
    // As a stream: the last character may be cut off.
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Text as UTF-8 with lines of at most `maxLine` characters: of a longer line each piece is a line of its own, so that
 * paging by lines reaches all of it. What cannot be decoded becomes U+FFFD, NUL goes.
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

/** Never between the halves of a surrogate pair. */
function endOfCharacter(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return end > 0 && end < text.length && code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}
