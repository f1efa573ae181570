import type { DataSource } from 'typeorm';
import { isStorableText } from '../../../src/platform/text.js';
import { detectEncoding, toUtf8Lines } from './decode-text.js';
import { nativeBlock, unlessMissing, type StoredFile } from '../../../src/files/native-block.js';
import { describeFile, sessionFiles, type SessionFile } from '../../../src/turns/session-files.js';
import { DEFAULT_LINES, PAGE_BYTES, showPage } from './show-page.js';
import { readTextPage } from './text-page.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

/** Longer lines are shown as several: minified code and data stay readable to their end. */
export const MAX_LINE = 4000;
export const SNIFFED_BYTES = 64 * 1024;

interface Input {
  file_id: string;
  offset?: number;
  limit?: number;
}

/** Shows a file of the session, or the whole of a tool's result that was shortened (contract.md §4). */
export const readFile: BuiltInTool = {
  name: 'read_file',
  description:
    'Reads a file of this conversation. Text comes in pages of lines, images and PDF documents are shown as they are. ' +
    `list_files has the ids. Lines of more than ${MAX_LINE} characters count as several lines.`,
  inputSchema: {
    type: 'object',
    properties: {
      file_id: {
        type: 'string',
        description: 'Id of the file, or of the tool call whose result was shortened (tool_use_id).',
      },
      offset: { type: 'integer', minimum: 0, description: 'First line to read, counted from 0 (default 0).' },
      limit: { type: 'integer', minimum: 1, description: `Number of lines (default ${DEFAULT_LINES}).` },
    },
    required: ['file_id'],
    additionalProperties: false,
  },
  async run(call, deps) {
    const input = call.input as unknown as Input;
    const files = await sessionFiles(deps.db, call.turn);
    const file = files.find(({ id }) => id === input.file_id) ?? (await shortenedResult(deps.db, call, input.file_id));
    if (file === null)
      return textResult(
        `This conversation has no file ${JSON.stringify(input.file_id)}. list_files shows which it has.`,
        true,
      );
    if (file.storage_key === null) return textResult(`${describeFile(file)} was deleted.`, true);
    const shown = await unlessMissing(show(deps, file as SessionFile & StoredFile, input));
    return shown === 'missing' ? textResult(`The content of ${JSON.stringify(file.filename)} is lost.`, true) : shown;
  },
};

async function show({ storage }: ToolDeps, file: SessionFile & StoredFile, input: Input): Promise<ToolResult> {
  const native = await nativeBlock(storage, file);
  if (typeof native === 'string') return textResult(`${describeFile(file)} cannot be shown: ${native}.`);
  if (native !== null) return { content: [{ type: 'text', text: describeFile(file) }, native], isError: false };
  if (file.size_bytes === 0) return textResult('(The file is empty.)');
  const encoding = detectEncoding(await storage.read(file.storage_key, SNIFFED_BYTES), file.mime_type);
  if (encoding === null) return textResult(notText(file));
  const offset = input.offset ?? 0;
  const lines = toUtf8Lines(await storage.open(file.storage_key), encoding, MAX_LINE);
  const page = await readTextPage(lines, { offset, limit: input.limit ?? DEFAULT_LINES, maxBytes: PAGE_BYTES });
  return page === null ? textResult(notText(file)) : showPage(page, offset);
}

function notText(file: SessionFile): string {
  return `${describeFile(file)} cannot be shown: it is neither text nor an image or a PDF.`;
}

/** The whole text of a result of this session that the model has a preview of. */
async function shortenedResult(db: DataSource, { turn }: ToolCall, toolUseId: string): Promise<SessionFile | null> {
  // The model made it up; Postgres would refuse the question.
  if (!isStorableText(toolUseId)) return null;
  const [row] = await db.query<{ overflow_key: string; name: string }[]>(
    `SELECT overflow_key, name FROM tool_calls JOIN turns ON turns.id = turn_id
     WHERE session_id = $1 AND tool_use_id = $2 AND overflow_key IS NOT NULL
     ORDER BY number DESC LIMIT 1`,
    [turn.sessionId, toolUseId],
  );
  if (row === undefined) return null;
  const text = {
    filename: `result of ${row.name}`,
    mime_type: 'text/plain',
    size_bytes: NaN,
    origin: 'delivered',
  } as const;
  return { ...text, id: toolUseId, storage_key: row.overflow_key };
}
