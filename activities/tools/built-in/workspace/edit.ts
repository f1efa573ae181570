import { replaceText, type NotReplaced } from '../../../../src/platform/replace-text.js';
import { MIB } from '../../../../src/platform/units.js';
import type { BuiltInTool } from '../../tool.js';
import { callInWorkspace, type Ran } from './call.js';
import { isText, readPath, writePath } from './file-commands.js';
import { isUsablePath, PATH_PROPERTY, wrongPath } from './path-input.js';

/** Of a file before and after. */
const MAX_EDITED_BYTES = 8 * MIB;

interface Input {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}

/** Replaces text in a file of the workspace (docs/workspace.md). */
export const edit: BuiltInTool = {
  name: 'edit',
  description:
    'Replaces old_string by new_string in a text file of the workspace. old_string must occur exactly once, unless replace_all is true.',
  inputSchema: {
    type: 'object',
    properties: {
      file_path: PATH_PROPERTY,
      old_string: { type: 'string', minLength: 1, description: 'The text to replace, exactly as it is in the file.' },
      new_string: { type: 'string', description: 'The text to put in its place.' },
      replace_all: { type: 'boolean', description: 'Replaces every occurrence (default false).' },
    },
    required: ['file_path', 'old_string', 'new_string'],
    additionalProperties: false,
  },
  async run(call, deps) {
    const { file_path: path, ...input } = call.input as unknown as Input;
    if (!isUsablePath(path)) return wrongPath('file_path');
    return callInWorkspace(call, deps, async (sandbox): Promise<Ran> => {
      const end = { exitCode: null, stopped: null, cwd: sandbox.base.cwd };
      const fail = (reason: string): Ran => ({
        content: [{ type: 'text', text: `${JSON.stringify(path)} ${reason}. Nothing was changed.` }],
        isError: true,
        mayChange: false,
        ...end,
      });
      const chunks: Buffer[] = [];
      let size = 0;
      const found = await readPath(sandbox, path, (chunk) => {
        size += chunk.length;
        if (size <= MAX_EDITED_BYTES) chunks.push(chunk);
      });
      if (found.kind === 'error') return fail(found.reason);
      if (found.kind === 'folder') return fail('is a folder');
      if (size > MAX_EDITED_BYTES) return fail('is larger than 8 MiB: use bash to change it');
      const text = Buffer.concat(chunks);
      if (!isText(text)) return fail('is not text');
      const { old_string: old, new_string: now, replace_all: all = false } = input;
      const edited = await replaceText(text, { old, now, all }, MAX_EDITED_BYTES);
      if ('problem' in edited) return fail(reasonOf(edited.problem));
      const reason = await writePath(sandbox, path, edited.text);
      if (reason !== null) return fail(reason);
      const times = edited.count === 1 ? 'once' : `${edited.count} times`;
      return {
        content: [{ type: 'text', text: `Replaced ${times} in ${JSON.stringify(path)}.` }],
        isError: false,
        mayChange: true,
        ...end,
      };
    });
  },
};

function reasonOf(problem: NotReplaced): string {
  if ('size' in problem)
    return `would have ${problem.size} bytes, and edit writes at most ${MAX_EDITED_BYTES}: use bash`;
  if (problem.count === 0) return 'does not contain old_string';
  return `contains old_string ${problem.count} times: make it longer, or set replace_all`;
}
