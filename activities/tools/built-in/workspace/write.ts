import type { BuiltInTool } from '../../tool.js';
import { callInWorkspace, type Ran } from './call.js';
import { writePath } from './file-commands.js';
import { isUsablePath, PATH_PROPERTY, wrongPath } from './path-input.js';

interface Input {
  file_path: string;
  content: string;
}

/** Writes a file of the workspace (docs/workspace.md). */
export const write: BuiltInTool = {
  name: 'write',
  description: 'Writes a whole text file of the workspace, and makes its folders.',
  inputSchema: {
    type: 'object',
    properties: { file_path: PATH_PROPERTY, content: { type: 'string', description: 'The whole content.' } },
    required: ['file_path', 'content'],
    additionalProperties: false,
  },
  async run(call, deps) {
    const { file_path: path, content } = call.input as unknown as Input;
    if (!isUsablePath(path)) return wrongPath('file_path');
    return callInWorkspace(call, deps, async (sandbox): Promise<Ran> => {
      const bytes = Buffer.from(content);
      const reason = await writePath(sandbox, path, bytes);
      const text =
        reason === null
          ? `Wrote ${JSON.stringify(path)} (${bytes.length} bytes).`
          : `${JSON.stringify(path)} ${reason}.`;
      const end = { exitCode: null, stopped: null, cwd: sandbox.base.cwd, mayChange: true };
      return { content: [{ type: 'text', text }], isError: reason !== null, ...end };
    });
  },
};
