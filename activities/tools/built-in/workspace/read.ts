import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { mimeTypeOf } from '../../../../src/files/filename.js';
import { nativeBlock } from '../../../../src/files/native-block.js';
import { storageKey } from '../../../../src/files/storage.js';
import { MIB } from '../../../../src/platform/units.js';
import type { ResultBlock } from '../../../../src/models/content.js';
import type { BuiltInTool, ToolCall, ToolDeps } from '../../tool.js';
import { callInWorkspace, retryStorage, type Ran } from './call.js';
import { readPath } from './file-commands.js';
import { FolderList } from './folder-list.js';
import { LineWindow } from './line-window.js';
import { isUsablePath, PATH_PROPERTY, wrongPath } from './path-input.js';

const MAX_MEDIA_BYTES = 20 * MIB;

interface Input {
  file_path: string;
  view_range?: [first: number, last: number];
}

/** Shows a file or folder of the workspace (docs/workspace.md). */
export const read: BuiltInTool = {
  name: 'read',
  description:
    'Reads a file of the workspace: text as it is, images and PDF documents as they are, a folder as a list of its entries.',
  inputSchema: {
    type: 'object',
    properties: {
      file_path: PATH_PROPERTY,
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        minItems: 2,
        maxItems: 2,
        description: 'First and last line to show, counted from 1. A last line below 1: to the end.',
      },
    },
    required: ['file_path'],
    additionalProperties: false,
  },
  async run(call, deps) {
    const { file_path: path, view_range: range } = call.input as unknown as Input;
    if (!isUsablePath(path)) return wrongPath('file_path');
    return callInWorkspace(call, deps, async (sandbox): Promise<Ran> => {
      const isMedia = /^(image\/(jpeg|png|gif|webp)|application\/pdf)$/.test(mimeTypeOf(basename(path)));
      const window = new LineWindow(range ?? [1, 0]);
      const bytes = new Collected(MAX_MEDIA_BYTES);
      const list = new FolderList();
      const found = await readPath(sandbox, path, (chunk, kind) => {
        if (kind === 'folder') list.add(chunk);
        else if (isMedia) bytes.add(chunk);
        else window.add(chunk);
      });
      const end = { exitCode: null, stopped: null, cwd: sandbox.base.cwd, mayChange: false };
      const say = (text: string, isError = false): Ran => ({ content: [{ type: 'text', text }], isError, ...end });
      if (found.kind === 'error') return say(`${JSON.stringify(path)} ${found.reason}.`, true);
      if (found.kind === 'folder') return say(list.text());
      if (!isMedia) {
        const text = window.text();
        return text === null ? say(`${JSON.stringify(path)} is not text.`, true) : say(text);
      }
      const block = await mediaBlock(call, deps, path, bytes);
      if (typeof block === 'string') return say(`${JSON.stringify(path)} cannot be shown: ${block}.`, true);
      return { content: [{ type: 'text', text: path }, block], isError: false, ...end };
    });
  },
};

async function mediaBlock(
  call: ToolCall,
  { storage }: ToolDeps,
  path: string,
  media: Collected,
): Promise<ResultBlock | string> {
  if (media.isCut) return 'it is larger than 20 MiB';
  const hash = createHash('sha256').update(call.idempotencyKey).digest('hex').slice(0, 32);
  const key = storageKey('results', call.turn.id, `${hash}-read`);
  const filename = basename(path);
  const file = { filename, mime_type: mimeTypeOf(filename), size_bytes: media.bytes.length, storage_key: key };
  return retryStorage(call, async () => {
    await storage.put(key, media.bytes, { contentType: file.mime_type, size: file.size_bytes });
    return (await nativeBlock(storage, file)) ?? 'it is no image that can be shown';
  });
}

/** Bytes up to a limit. */
class Collected {
  readonly #chunks: Buffer[] = [];
  #size = 0;
  isCut = false;

  constructor(private readonly maxBytes: number) {}

  add(chunk: Buffer): void {
    this.isCut ||= this.#size + chunk.length > this.maxBytes;
    if (this.isCut) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
