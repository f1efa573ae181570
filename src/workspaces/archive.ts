import { crc32 } from 'node:zlib';
import type { Storage } from '../files/storage.js';
import {
  dataDescriptor,
  directoryHeader,
  directorySize,
  dosTime,
  EARLIEST_TIME,
  endRecord,
  endSize,
  localHeader,
  localSize,
  type ZipEntry,
} from '../files/zip.js';
import { Pauses } from '../platform/pauses.js';
import { MIB } from '../platform/units.js';
import { entriesBelow } from './browse.js';
import { isFile, type TreeEntry, type Manifest } from './manifest.js';
import { contentsOf, PackReader, type StoredContent } from './packs.js';

/** A file up to this size is in memory when its header is written. Of a larger one the checksum follows the content. */
const IN_MEMORY = 4 * MIB;
/** Smaller pieces are sent together. */
const PIECE_BYTES = 64 * 1024;
/** Of a stored block in a deflated stream: its length has 16 bits. */
const MAX_BLOCK = 0xffff;
const BLOCK_HEADER = 5;

interface Member {
  entry: ZipEntry;
  offset: number;
}

/** The files and folders below a folder of a workspace as a ZIP archive. */
export class WorkspaceArchive {
  readonly #folders: Member[] = [];
  readonly #contents: { content: StoredContent; members: Member[] }[] = [];
  #directoryStart = 0;
  #directoryBytes = 0;

  private constructor() {}

  /** Places all entries: folders and empty files, then contents in the order in which they are stored. */
  static async of(manifest: Manifest, folder: string): Promise<WorkspaceArchive> {
    const archive = new WorkspaceArchive();
    const pauses = new Pauses();
    const above = folder === '/' ? 1 : folder.length + 1;
    const place = async (entry: TreeEntry): Promise<Member> => {
      if (pauses.isDue) await pauses.take();
      const member = { entry: zipEntryOf(entry, zipPath(entry, above)), offset: archive.#directoryStart };
      archive.#directoryStart += localSize(member.entry) + member.entry.storedSize;
      archive.#directoryBytes += directorySize(member.entry, member.offset);
      return member;
    };
    const entries = entriesBelow(manifest, folder);
    for (const entry of entries) {
      if (entry.kind === 'directory' || (isFile(entry) && entry.at === null)) {
        archive.#folders.push(await place(entry));
      }
    }
    for (const content of contentsOf({ entries })) {
      const members: Member[] = [];
      for (const file of content.files) members.push(await place(file));
      archive.#contents.push({ content, members });
    }
    return archive;
  }

  /** In bytes. */
  get size(): number {
    return this.#directoryStart + this.#directoryBytes + endSize(this.#directoryStart);
  }

  /** The objects that have the contents. */
  get packs(): string[] {
    return [...new Set(this.#contents.map(({ content }) => content.at.pack))];
  }

  /** @throws as `PackReader.read`, also after the first bytes */
  async *chunks(storage: Storage): AsyncGenerator<Buffer> {
    const reader = new PackReader(storage);
    try {
      yield* inPieces(this.#write(reader));
    } finally {
      await reader.close();
    }
  }

  async *#write(reader: PackReader): AsyncGenerator<Buffer> {
    const sums = new Map<Member, number>();
    for (const { entry } of this.#folders) yield localHeader(entry);
    for (const { content, members } of this.#contents) {
      if (content.size <= IN_MEMORY) {
        const bytes = await inMemory(reader.read(content));
        const sum = crc32(bytes);
        for (const member of members) {
          sums.set(member, sum);
          yield localHeader({ ...member.entry, crc32: sum });
          yield bytes;
        }
      } else {
        for (const member of members) {
          let sum = 0;
          yield localHeader(member.entry);
          for await (const block of blocksOf(reader.read(content), content.size)) {
            for (const chunk of block.content) sum = crc32(chunk, sum);
            yield block.header;
            yield* block.content;
          }
          sums.set(member, sum);
          yield dataDescriptor(member.entry, sum);
        }
      }
    }
    const members = this.#members();
    for (const member of members) yield directoryHeader(member.entry, member.offset, sums.get(member) ?? 0);
    yield endRecord(members.length, this.#directoryBytes, this.#directoryStart);
  }

  #members(): Member[] {
    return [...this.#folders, ...this.#contents.flatMap(({ members }) => members)];
  }
}

/**
 * The name in the archive. For Windows a backslash ends the name of a folder, and `C:` names a drive: both could lead out of the
 * folder in which the archive is unpacked, so they are percent-encoded. So is the `%` of a name that looks encoded already: no two
 * entries have the same name.
 */
function zipPath({ kind, path }: TreeEntry, above: number): string {
  const name = path
    .slice(above)
    .replaceAll(/%(?=(?:25)*5C)/g, '%25')
    .replaceAll('\\', '%5C')
    .replace(/^([a-z])%(?=(?:25)*3A)/i, '$1%25')
    .replace(/^([a-z]):/i, '$1%3A');
  return kind === 'directory' ? `${name}/` : name;
}

function zipEntryOf(entry: TreeEntry, path: string): ZipEntry {
  if (!isFile(entry)) {
    const mode = entry.kind === 'directory' ? 0o040000 | entry.mode : 0;
    return { path, size: 0, storedSize: 0, isDeflated: false, crc32: 0, mode, time: EARLIEST_TIME };
  }
  const { size, mtime } = entry;
  const isLarge = size > IN_MEMORY;
  return {
    path,
    size,
    // A reader of a stream finds the end of a content whose size follows it only if it is deflated: in blocks that are not compressed.
    storedSize: isLarge ? size + Math.ceil(size / MAX_BLOCK) * BLOCK_HEADER : size,
    isDeflated: isLarge,
    crc32: isLarge ? null : 0,
    mode: 0o100000 | entry.mode,
    time: dosTime(mtime),
  };
}

async function inMemory(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Cuts a content into the stored blocks of a deflated stream (RFC 1951, 3.2.4). */
async function* blocksOf(
  chunks: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ header: Buffer; content: Buffer[] }> {
  let left = size;
  let content: Buffer[] = [];
  let length = 0;
  for await (let chunk of chunks) {
    while (chunk.length > 0) {
      const piece = chunk.subarray(0, Math.min(MAX_BLOCK, left) - length);
      content.push(piece);
      length += piece.length;
      chunk = chunk.subarray(piece.length);
      if (length < Math.min(MAX_BLOCK, left)) continue;
      left -= length;
      yield { header: blockHeader(length, left === 0), content };
      content = [];
      length = 0;
    }
  }
}

function blockHeader(length: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(BLOCK_HEADER);
  header.writeUInt8(isLast ? 1 : 0, 0);
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(length ^ 0xffff, 3);
  return header;
}

/** Sends small pieces together: an archive of many small files has three for each. */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  const take = (): Buffer => {
    const piece = Buffer.concat(waiting, length);
    waiting = [];
    length = 0;
    return piece;
  };
  const pauses = new Pauses();
  for await (const chunk of chunks) {
    // A reader that takes all at once never lets the loop go.
    if (pauses.isDue) await pauses.take();
    if (length + chunk.length >= PIECE_BYTES && length > 0) yield take();
    if (chunk.length >= PIECE_BYTES) yield chunk;
    else {
      waiting.push(chunk);
      length += chunk.length;
    }
  }
  if (length > 0) yield take();
}
