import type { TextPage } from './text-page.js';
import { textResult, type ToolResult } from '../tool.js';

export const DEFAULT_LINES = 2000;
/** Less than the limit for results in store-call, so that a page is not shortened again. */
export const PAGE_BYTES = 40 * 1024;

export function showPage(page: TextPage, offset: number): ToolResult {
  if (page.lineCount === 0 && offset > 0) {
    return textResult(`The file has ${page.totalLines} lines; there is no line ${offset} (lines count from 0).`, true);
  }
  const notes: string[] = [];
  if (page.isCut) notes.push(`Line ${offset} is longer than ${PAGE_BYTES} bytes and was cut.`);
  if (page.nextLine !== null) {
    notes.push(`Lines ${offset} to ${page.nextLine - 1} are shown; read on with offset ${page.nextLine}.`);
  }
  return textResult(notes.length === 0 ? page.text : `${page.text}\n\n[${notes.join(' ')}]`);
}
