import { detectEncoding, toUtf8Lines } from './decode-text.js';
import { nativeBlock, unlessMissing, type ShowableFile } from '../../../src/files/native-block.js';
import { findShortenedResult, MAX_LINE } from '../../../src/steps/shorten-result.js';
import { describeFile, sessionFiles, type SessionFile } from '../../../src/steps/session-files.js';
import { DEFAULT_LINES, PAGE_BYTES, showPage } from './show-page.js';
import { readTextPage } from './text-page.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

export const SNIFFED_BYTES = 64 * 1024;

interface Input {
  file_id: string;
  offset?: number;
  limit?: number;
}

/** Shows a file of the session, or the full text of a shortened tool result (contract.md §4). */
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
    const file = files.find(({ id }) => id === input.file_id) ?? (await shortenedResult(deps, call, input.file_id));
    if (file === null)
      return textResult(
        `This conversation has no file ${JSON.stringify(input.file_id)}. list_files shows which it has.`,
        true,
      );
    if (file.storage_key === null) return textResult(`${describeFile(file)} was deleted.`, true);
    const shown = await unlessMissing(show(deps, file as SessionFile & ShowableFile, input));
    return shown === 'missing' ? textResult(`The content of ${JSON.stringify(file.filename)} is lost.`, true) : shown;
  },
};

async function show({ storage }: ToolDeps, file: SessionFile & ShowableFile, input: Input): Promise<ToolResult> {
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

/** The full text of a tool result of this session that the model got as a preview. */
async function shortenedResult({ db }: ToolDeps, { turn }: ToolCall, toolUseId: string): Promise<SessionFile | null> {
  const result = await findShortenedResult(db, turn.sessionId, toolUseId);
  if (result === null) return null;
  const text = { mime_type: 'text/plain', size_bytes: NaN, origin: 'delivered' } as const;
  return { ...text, id: toolUseId, filename: `result of ${result.name}`, storage_key: result.overflow_key };
}
