import { createHash } from 'node:crypto';
import { checkedFilename } from '../../../src/files/filename.js';
import { storageKey } from '../../../src/files/storage.js';
import { requireStorage } from '../../../src/files/storage-limit.js';
import { MAX_FILE_BYTES } from '../../../src/files/store.js';
import { PATH_PROPERTY } from './workspace/path-input.js';
import { deliveredResult, deliveryRefused, newOutput } from './delivery.js';
import { deliverPath } from './workspace/deliver-path.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

interface Input {
  filename: string;
  content: string;
  encoding?: 'utf-8' | 'base64';
}

/**
 * Delivers a file to the user (decisions.md "What the agent has"). The object's key is derived from the call, so that a retry overwrites it.
 * One transaction stores the row, `agent.file` and the result.
 */
export const deliverFile: BuiltInTool = {
  name: 'deliver_file',
  description:
    'Delivers a file to the user, who can download it. Use it for every result that should be a file. ' +
    'The extension of the name decides the type of the file.',
  inputSchema: {
    type: 'object',
    properties: {
      filename: { type: 'string', description: 'Name with extension, for example report.csv.' },
      content: { type: 'string', description: 'The whole content: text, or base64 for binary files.' },
      encoding: { type: 'string', enum: ['utf-8', 'base64'], description: 'Encoding of content (default utf-8).' },
    },
    required: ['filename', 'content'],
    additionalProperties: false,
  },
  run: (call, deps) => deliver(call, deps).catch(deliveryRefused),
};

/** The same in a session with a workspace: it also delivers a file from there. */
export const deliverFileOrPath: BuiltInTool = {
  ...deliverFile,
  description: `${deliverFile.description} Send content, or path for a file of the workspace.`,
  inputSchema: {
    type: 'object',
    properties: {
      ...deliverFile.inputSchema.properties,
      filename: {
        type: 'string',
        description: 'Name with extension, for example report.csv; with path: that of the file.',
      },
      path: { ...PATH_PROPERTY, description: 'A file of the workspace, in place of content.' },
    },
    additionalProperties: false,
  },
  async run(call, deps) {
    const { path, content, filename } = call.input as Partial<Input> & { path?: string };
    if ((path === undefined) === (content === undefined))
      return textResult('Wrong input: send either content or path. Nothing was delivered.', true);
    if (path !== undefined) return deliverPath(call, deps, path, filename).catch(deliveryRefused);
    if (filename === undefined) return textResult('Wrong input: content needs filename. Nothing was delivered.', true);
    return deliverFile.run(call, deps);
  },
};

async function deliver(
  { turn, idempotencyKey, input }: ToolCall,
  { config, db, storage }: ToolDeps,
): Promise<ToolResult> {
  const { filename: wanted, content, encoding = 'utf-8' } = input as unknown as Input;
  const filename = checkedFilename(wanted);
  const bytes = encoding === 'base64' ? fromBase64(content) : Buffer.from(content);
  if (bytes === null) return textResult('The content is not valid base64. Nothing was delivered.', true);
  if (bytes.length > MAX_FILE_BYTES)
    return textResult('The content is larger than 100 MiB. Nothing was delivered.', true);
  await requireStorage(db, turn.projectId, config.maxStoragePerProject, bytes.length);

  const key = storageKey('files', turn.projectId, createHash('sha256').update(idempotencyKey).digest('hex'));
  const file = newOutput(turn, filename, bytes.length, key);
  await storage.put(key, bytes, { contentType: file.mime_type });
  return deliveredResult(file, config);
}

/** Checks the format first, because Buffer.from silently ignores invalid characters. */
function fromBase64(content: string): Buffer | null {
  const text = content.replace(/\s+/g, '');
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}
