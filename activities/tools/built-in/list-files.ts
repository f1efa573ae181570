import { describeFile, sessionFiles } from '../../../src/steps/session-files.js';
import { textResult, type BuiltInTool } from '../tool.js';

/** Maximum number of lines; the newest files are listed. */
const MAX_LISTED = 200;

export const listFiles: BuiltInTool = {
  name: 'list_files',
  description:
    'Lists the files of this conversation: those the user attached to its messages and those you delivered. read_file shows their content.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  async run({ turn }, { db }) {
    const files = await sessionFiles(db, turn);
    if (files.length === 0) return textResult('No file was attached or delivered in this conversation.');
    const lines = files
      .slice(-MAX_LISTED)
      .map((file) => `- ${describeFile(file)}, ${file.storage_key === null ? 'deleted' : file.origin}`);
    const earlier = files.length - lines.length;
    return textResult([...(earlier > 0 ? [`(${earlier} earlier files are not listed)`] : []), ...lines].join('\n'));
  },
};
