import { TextDecoder } from 'node:util';
import { truncateUtf8 } from '../../../src/platform/text.js';

/** A page of lines, starting at the window's offset. */
export interface TextPage {
  text: string;
  lineCount: number;
  /** First line of the next page; null at the end of the text. */
  nextLine: number | null;
  /** Number of lines of the text, if its end was reached. */
  totalLines: number | null;
  /** True if the page is a single line that was longer than a page, so its end is missing. */
  isCut: boolean;
}

interface TextWindow {
  /** The first line, counted from 0. */
  offset: number;
  limit: number;
  maxBytes: number;
}

/**
 * Reads one page of lines from a stream and stops at the end of the page. Returns null if the text is not UTF-8.
 */
export async function readTextPage(chunks: AsyncIterable<Buffer>, window: TextWindow): Promise<TextPage | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const page = new PageBuilder(window);
  for await (const chunk of chunks) {
    const text = decode(decoder, chunk);
    if (text === null) return null;
    if (page.add(text)) return page.result();
  }
  const rest = decode(decoder);
  if (rest === null) return null;
  page.add(rest);
  page.end();
  return page.result();
}

function decode(decoder: TextDecoder, chunk?: Buffer): string | null {
  try {
    const text = decoder.decode(chunk, { stream: chunk !== undefined });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

class PageBuilder {
  private readonly lines: string[] = [];
  private bytes = 0;
  private line = 0;
  private pending = '';
  private nextLine: number | null = null;
  private isCut = false;

  constructor(private readonly window: TextWindow) {}

  add(text: string): boolean {
    const parts = text.split('\n');
    for (const [index, part] of parts.entries()) {
      this.append(part);
      if (index < parts.length - 1 && this.finishLine()) return true;
    }
    return false;
  }

  /** A line feed at the end of the text does not start another line. */
  end(): void {
    if (this.pending !== '') this.finishLine();
  }

  result(): TextPage {
    const { lines, nextLine, isCut } = this;
    const totalLines = nextLine === null ? this.line : null;
    return { text: lines.join('\n'), lineCount: lines.length, nextLine, totalLines, isCut };
  }

  /** Keeps only as much of a line as needed to detect that it is too long for a page. */
  private append(part: string): void {
    if (this.line < this.window.offset) this.pending ||= part.slice(0, 1);
    else if (this.pending.length <= this.window.maxBytes) this.pending += part;
  }

  private finishLine(): boolean {
    const { offset, limit, maxBytes } = this.window;
    const text = this.pending;
    this.pending = '';
    if (this.line < offset) {
      this.line += 1;
      return false;
    }
    const size = Buffer.byteLength(text) + 1;
    const isFull = this.lines.length === limit || (this.lines.length > 0 && this.bytes + size > maxBytes);
    if (isFull) {
      this.nextLine = this.line;
      return true;
    }
    this.isCut = size > maxBytes;
    this.lines.push(this.isCut ? truncateUtf8(text, maxBytes) : text);
    this.bytes += size;
    this.line += 1;
    return false;
  }
}
