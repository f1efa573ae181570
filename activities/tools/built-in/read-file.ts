import { nativeBlock, unlessMissing, type ShowableFile } from '../../../src/files/native-block.js';
import { findShortenedResult, MAX_LINE } from '../../../src/steps/shorten-result.js';
import { describeFile, sessionFiles, type SessionFile } from '../../../src/steps/session-files.js';
import { showText, WINDOW_PROPERTIES, type TextWindow } from './show-text.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

interface Input extends TextWindow {
  file_id: string;
}

/** Shows a file of the session, or the full text of a shortened tool result (decisions.md "What the agent has"). */
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
      ...WINDOW_PROPERTIES,
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
  const { mime_type: mimeType, storage_key: key } = file;
  const readStart = (maxBytes: number) => storage.read(key, maxBytes);
  const shown = await showText({ mimeType, readStart, open: () => storage.open(key) }, input);
  return shown ?? textResult(`${describeFile(file)} cannot be shown: it is neither text nor an image or a PDF.`);
}

/** The full text of a tool result of this session that the model got as a preview. */
async function shortenedResult({ db }: ToolDeps, { turn }: ToolCall, toolUseId: string): Promise<SessionFile | null> {
  const result = await findShortenedResult(db, turn.sessionId, toolUseId);
  if (result === null) return null;
  const text = { mime_type: 'text/plain', size_bytes: NaN, origin: 'delivered', attached_at: null } as const;
  return { ...text, id: toolUseId, filename: `result of ${result.name}`, storage_key: result.overflow_key };
}
