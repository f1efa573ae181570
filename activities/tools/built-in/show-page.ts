import type { TextPage } from './text-page.js';
import { textResult, type ToolResult } from '../tool.js';

export const DEFAULT_LINES = 2000;
/** Less than what the model gets of a result in whole (store-call): a page is never cut a second time. */
export const PAGE_BYTES = 40 * 1024;

/** A page of text as a tool's result, with a note on how to read on. */
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
