import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { TextDecoder } from 'node:util';
import { mimeTypeOf } from '../../../../src/files/filename.js';
import { nativeBlock } from '../../../../src/files/native-block.js';
import { storageKey } from '../../../../src/files/storage.js';
import { truncateUtf8 } from '../../../../src/platform/text.js';
import { MIB } from '../../../../src/platform/units.js';
import type { ResultBlock } from '../../../../src/models/content.js';
import type { BuiltInTool, ToolCall, ToolDeps } from '../../tool.js';
import { callInWorkspace, retryStorage, type Ran } from './call.js';
import { readPath } from './file-commands.js';
import { isUsablePath, PATH_PROPERTY, wrongPath } from './path-input.js';

/** Less than the limit for results in store-call, so that a result is never shortened. */
const SHOWN_BYTES = 46 * 1024;
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
      const found = await readPath(sandbox, path, (chunk, kind) => {
        if (kind === 'folder' || isMedia) bytes.add(chunk);
        else window.add(chunk);
      });
      const end = { exitCode: null, stopped: null, cwd: sandbox.base.cwd, mayChange: false };
      const say = (text: string, isError = false): Ran => ({ content: [{ type: 'text', text }], isError, ...end });
      if (found.kind === 'error') return say(`${JSON.stringify(path)} ${found.reason}.`, true);
      if (found.kind === 'folder') return say(folderText(bytes.bytes));
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

/** Takes the lines of a window out of a text of any size, and counts all of them. */
class LineWindow {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #shown: string[] = [];
  readonly #first: number;
  readonly #last: number;
  /** Lines so far. */
  #count = 0;
  /** The begin of the next one. */
  #rest = '';
  #room = SHOWN_BYTES;
  #isCut = false;
  #isText = true;

  constructor([first, last]: [number, number]) {
    this.#first = Math.max(1, first);
    this.#last = last < 1 ? Infinity : last;
  }

  add(chunk: Buffer): void {
    if (chunk.includes(0)) this.#isText = false;
    this.#decode(chunk, true);
  }

  /** The lines, with a note where there are others; null for what is no text. */
  text(): string | null {
    this.#decode(Buffer.alloc(0), false);
    if (!this.#isText) return null;
    const end = this.#rest === '' ? '\n' : '';
    if (this.#rest !== '') this.#take(this.#rest);
    if (this.#count === 0) return '(The file is empty.)';
    const last = this.#first + this.#shown.length - 1;
    if (this.#shown.length === 0) return `[The file has ${this.#count} lines; none of them is in this range.]`;
    if (this.#shown.length === this.#count && !this.#isCut) return this.#shown.join('\n') + end;
    return [...this.#shown, `[lines ${this.#first}-${last} of ${this.#count}]`].join('\n');
  }

  #decode(chunk: Buffer, stream: boolean): void {
    if (!this.#isText) return;
    try {
      const lines = (this.#rest + this.#decoder.decode(chunk, { stream })).split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) this.#take(line);
      // The end of a line that is too long is not shown.
      if (this.#rest.length > 2 * SHOWN_BYTES) this.#rest = this.#rest.slice(0, SHOWN_BYTES + 1);
    } catch {
      this.#isText = false;
    }
  }

  #take(line: string): void {
    this.#count += 1;
    if (this.#count < this.#first || this.#count > this.#last || this.#isCut) return;
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes <= this.#room) {
      this.#shown.push(line);
      this.#room -= bytes;
      return;
    }
    this.#isCut = true;
    // Whole lines, but for one that is too long alone.
    if (this.#shown.length === 0) this.#shown.push(truncateUtf8(line, this.#room));
  }
}

/** The entries of a folder, one a line. Control characters in a name are shown as `?`: a name has one line. */
function folderText(names: Buffer): string {
  const entries = names.toString('utf8').split('\0').slice(0, -1);
  if (entries.length === 0) return '(The folder is empty.)';
  const lines = entries.map((name) => name.replace(/\p{Cc}/gu, '?')).sort();
  const text = lines.join('\n');
  if (Buffer.byteLength(text) <= SHOWN_BYTES) return text;
  const shown = truncateUtf8(text, SHOWN_BYTES).split('\n').slice(0, -1);
  return [...shown, `[${shown.length} of ${lines.length} entries]`].join('\n');
}
