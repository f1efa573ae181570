import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { newStorageKey, ObjectMissingError, type Storage } from '../files/storage.js';
import { mapInPieces, Pauses } from '../platform/pauses.js';
import { MIB } from '../platform/units.js';
import { isFile, type FileEntry, type Manifest } from './manifest.js';

/** Contents are copied into one new pack when more packs than this hold them, or when less than half of their bytes are used. */
const MAX_PACKS = 32;
/** A smaller pack is built in memory, so that the storage takes it in one request and can retry it. */
const IN_MEMORY = 4 * MIB;
/** A longer gap between two files of a pack is not read. */
const MAX_GAP = MIB;

const PACK_TYPE = 'application/octet-stream';

/** Files that share one content. */
export interface StoredContent {
  size: number;
  at: NonNullable<FileEntry['at']>;
  files: FileEntry[];
}

/**
 * Stores the contents of a tree that `base` does not have, in one object, and returns the tree with the places of all
 * contents. An object is stored whole or not at all, and never changed.
 * @param contentOf opens a file of the tree
 */
export async function storeContents(
  storage: Storage,
  sessionId: string,
  { manifest, base }: { manifest: Manifest; base: Manifest },
  contentOf: (path: string) => Readable,
): Promise<{ manifest: Manifest; written: number }> {
  const pauses = new Pauses();
  const known = new Map(await mapInPieces(base.entries.filter(isFile), ({ sha256, at }) => [sha256, at] as const));
  const sizes = new Map(base.packs.map(({ key, size }) => [key, size]));
  const old = new Map<string, StoredContent>();
  const added = new Map<string, FileEntry>();
  for (const file of manifest.entries.filter(isFile)) {
    if (pauses.isDue) await pauses.take();
    if (file.size === 0) continue;
    const at = known.get(file.sha256) ?? null;
    if (at === null) added.set(file.sha256, added.get(file.sha256) ?? file);
    else old.set(file.sha256, { size: file.size, at, files: [] });
  }
  const kept = new Set([...old.values()].map(({ at }) => at.pack));
  const isCopied = needsRepack(old, kept, sizes, added.size > 0);
  const reader = new PackReader(storage);
  const pieces: Piece[] = [
    ...(isCopied ? piecesOf(reader, [...old]) : []),
    ...[...added].map(([sha256, { path, size }]): Piece => ({ sha256, size, open: () => contentOf(path) })),
  ];
  const packs = isCopied ? [] : base.packs.filter(({ key }) => kept.has(key));
  const places = new Map<string, FileEntry['at']>(isCopied ? [] : [...old].map(([sha256, { at }]) => [sha256, at]));
  let written = 0;
  if (pieces.length > 0) {
    const key = newStorageKey('workspaces', sessionId);
    for (const { sha256, size } of pieces) {
      if (pauses.isDue) await pauses.take();
      places.set(sha256, { pack: key, offset: written });
      written += size;
    }
    try {
      await putPack(storage, key, pieces, written);
    } finally {
      await reader.close();
    }
    packs.push({ key, size: written });
  }
  const entries = await mapInPieces(manifest.entries, (entry) =>
    isFile(entry) ? { ...entry, at: places.get(entry.sha256) ?? null } : entry,
  );
  return { manifest: { entries, packs, delivered: manifest.delivered }, written };
}

function needsRepack(
  old: Map<string, StoredContent>,
  kept: Set<string>,
  sizes: Map<string, number>,
  adds: boolean,
): boolean {
  if (kept.size + (adds ? 1 : 0) > MAX_PACKS) return true;
  const used = [...old.values()].reduce((sum, { size }) => sum + size, 0);
  const total = [...kept].reduce((sum, key) => sum + sizes.get(key)!, 0);
  return used * 2 < total;
}

/** A content to write to a pack. */
interface Piece {
  sha256: string;
  size: number;
  open: () => AsyncIterable<Buffer>;
}

/** The contents of other packs, in the order in which they are there: each pack is read once, from its begin to its end. */
function piecesOf(reader: PackReader, contents: [sha256: string, StoredContent][]): Piece[] {
  return contents
    .toSorted(([, a], [, b]) => byPlace(a, b))
    .map(([sha256, content]) => ({ sha256, size: content.size, open: () => reader.read(content) }));
}

function byPlace(a: StoredContent, b: StoredContent): number {
  if (a.at.pack === b.at.pack) return a.at.offset - b.at.offset;
  return a.at.pack < b.at.pack ? -1 : 1;
}

async function putPack(storage: Storage, key: string, pieces: Piece[], size: number): Promise<void> {
  const content = Readable.from(checkedContents(pieces), { objectMode: false });
  const body = size <= IN_MEMORY ? Buffer.concat((await content.toArray()) as Buffer[]) : content;
  await storage.put(key, body, { contentType: PACK_TYPE, size });
}

/** @throws Error if a content is not what its tree says: the version would be damaged */
async function* checkedContents(pieces: Piece[]): AsyncGenerator<Buffer> {
  for (const { sha256, size, open } of pieces) {
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of open()) {
      hash.update(chunk);
      length += chunk.length;
      yield chunk;
    }
    if (length !== size || hash.digest('hex') !== sha256) throw new Error('a file changed while it was stored');
  }
}

/** The contents of a version's files, in the order of their places. */
export function contentsOf({ entries }: Pick<Manifest, 'entries'>): StoredContent[] {
  const contents = new Map<string, StoredContent>();
  for (const file of entries.filter(isFile)) {
    if (file.at === null) continue;
    const content = contents.get(file.sha256) ?? { size: file.size, at: file.at, files: [] };
    content.files.push(file);
    contents.set(file.sha256, content);
  }
  return [...contents.values()].toSorted(byPlace);
}

/** Reads the contents of a version, each once at most, in the order of `contentsOf`. */
export interface ContentReader {
  read(content: StoredContent): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** A request for a pack, from some place on to its end. */
interface OpenPack {
  pack: string;
  /** Where the next bytes are. */
  at: number;
  chunks: AsyncIterator<Buffer>;
  /** Bytes that were read already. */
  rest: Buffer;
}

/** Reads contents that are asked for in the order of their places, with as few requests as possible. */
export class PackReader implements ContentReader {
  #open: OpenPack | null = null;

  constructor(private readonly storage: Storage) {}

  /** @throws ObjectMissingError, also if the object ends too early */
  async *read({ at: { pack, offset }, size }: Pick<StoredContent, 'at' | 'size'>): AsyncGenerator<Buffer> {
    const open = await this.#seek(pack, offset);
    let missing = size;
    while (missing > 0) {
      const chunk = await this.#next(open);
      if (chunk.length > missing) {
        open.rest = chunk.subarray(missing);
        open.at -= open.rest.length;
      }
      yield chunk.subarray(0, missing);
      missing -= Math.min(missing, chunk.length);
    }
  }

  /** Ends the request that is open. */
  async close(): Promise<void> {
    await this.#open?.chunks.return?.();
    this.#open = null;
  }

  async #seek(pack: string, offset: number): Promise<OpenPack> {
    const open = this.#open;
    if (open !== null && open.pack === pack && offset >= open.at && offset - open.at <= MAX_GAP) {
      while (open.at < offset) {
        const chunk = await this.#next(open);
        const over = Math.max(0, open.at - offset);
        open.rest = chunk.subarray(chunk.length - over);
        open.at -= over;
      }
      return open;
    }
    await this.close();
    const stream = await this.storage.open(pack, { start: offset });
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    return (this.#open = { pack, at: offset, chunks, rest: Buffer.alloc(0) });
  }

  /** The next bytes that were read or are read now, after which `at` is at their end. */
  async #next(open: OpenPack): Promise<Buffer> {
    const rest = open.rest;
    open.rest = Buffer.alloc(0);
    if (rest.length > 0) {
      open.at += rest.length;
      return rest;
    }
    const next = await open.chunks.next();
    if (next.done === true) {
      throw new ObjectMissingError(open.pack, `the object ${open.pack} is shorter than its workspace says`);
    }
    open.at += next.value.length;
    return next.value;
  }
}
