import { storageKey, type Storage } from '../files/storage.js';
import { truncateUtf8 } from '../platform/text.js';
import { MAX_LINE } from '../../activities/tools/built-in/read-file.js';
import type { ResultBlock } from './content.js';

/** What a shortened result is kept under. */
export interface ResultKey {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
}

export interface ShortenedResult {
  content: ResultBlock[];
  /** The object with the whole text. */
  overflowKey: string;
}

/**
 * Cuts a result's text to `keepBytes` and says how to read on; the whole text goes to file storage, unless it is there
 * already (`storedKey`) because the result was shortened before.
 */
export async function shortenResult(
  storage: Storage,
  call: ResultKey,
  content: ResultBlock[],
  keepBytes: number,
  storedKey: string | null,
): Promise<ShortenedResult> {
  const text = textOf(content);
  const overflowKey = storedKey ?? storageKey('results', call.turnId, `${call.step}-${call.index}`);
  if (storedKey === null) {
    const bytes = Buffer.from(text);
    await storage.put(overflowKey, bytes, { contentType: 'text/plain; charset=utf-8', size: bytes.length });
  }
  const shown = truncateUtf8(text, keepBytes);
  const id = JSON.stringify(call.toolUseId);
  const note =
    shown === ''
      ? `[Left out to save room. read_file {"file_id": ${id}} shows it again.]`
      : `${shown}\n\n[The first ${Buffer.byteLength(shown)} bytes${storedKey === null ? ` of ${Buffer.byteLength(text)}` : ''}. ` +
        `Read on with read_file {"file_id": ${id}, "offset": ${linesOf(shown)}}.]`;
  return { content: [{ type: 'text', text: note }], overflowKey };
}

/** The text of a result's blocks. */
export function textOf(content: ResultBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** How many whole lines a preview shows, as read_file counts them. */
function linesOf(preview: string): number {
  return preview
    .split('\n')
    .map((line, index, { length }) => {
      const isLast = index === length - 1;
      return isLast ? Math.floor(line.length / MAX_LINE) : Math.max(1, Math.ceil(line.length / MAX_LINE));
    })
    .reduce((sum, lines) => sum + lines, 0);
}
