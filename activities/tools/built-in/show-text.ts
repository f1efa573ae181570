import { textResult, type ToolResult } from '../tool.js';
import { decodeLines, detectEncoding } from './decode-text.js';

const SNIFFED_BYTES = 64 * 1024;
const DEFAULT_LINES = 2000;
/** Less than `MAX_WHOLE_BYTES` of src/steps/shorten-result, so that a page is not shortened again. */
export const PAGE_BYTES = 40 * 1024;

/** The input of a tool that shows a page of lines. */
export interface TextWindow {
  offset?: number;
  limit?: number;
}

export const WINDOW_PROPERTIES = {
  offset: { type: 'integer', minimum: 0, description: 'First line to read, counted from 0 (default 0).' },
  limit: { type: 'integer', minimum: 1, description: `Number of lines (default ${DEFAULT_LINES}).` },
};

interface ShowableText {
  mimeType: string;
  readStart: (maxBytes: number) => Promise<Buffer>;
  open: () => Promise<AsyncIterable<Buffer>>;
}

/** Shows a page of lines and stops reading at its end. Null if the file is not text. */
export async function showText(
  { mimeType, readStart, open }: ShowableText,
  { offset = 0, limit = DEFAULT_LINES }: TextWindow,
): Promise<ToolResult | null> {
  const encoding = detectEncoding(await readStart(SNIFFED_BYTES), mimeType);
  if (encoding === null) return null;
  const shown: string[] = [];
  let bytes = 0;
  let next = 0;
  for await (const lines of decodeLines(await open(), encoding)) {
    for (const line of lines) {
      if (next >= offset) {
        bytes += Buffer.byteLength(line) + 1;
        if (shown.length === limit || bytes > PAGE_BYTES) {
          const note = `[Lines ${offset} to ${next - 1} are shown; read on with offset ${next}.]`;
          return textResult(`${shown.join('\n')}\n\n${note}`);
        }
        shown.push(line);
      }
      next += 1;
    }
  }
  if (shown.length > 0 || offset === 0) return textResult(shown.join('\n'));
  return textResult(`The file has ${next} lines; there is no line ${offset} (lines count from 0).`, true);
}
