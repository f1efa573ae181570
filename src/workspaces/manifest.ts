import { constants } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify, TextDecoder } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { Pauses } from '../platform/pauses.js';

/** Where the bytes of a file are: from `offset` on in the object `pack`. */
interface Place {
  pack: string;
  offset: number;
}

export interface FileEntry {
  kind: 'file';
  path: string;
  /** Permission bits, at most 0o777. */
  mode: number;
  size: number;
  /** Time of the last change, in ms since 1970. */
  mtime: number;
  /** Of the content, in hex. */
  sha256: string;
  /** Null for an empty file, and for a content that is not stored yet. */
  at: Place | null;
  /** Made or written, also with equal content: of a scan, since its command began; of a version, and not delivered since. */
  isWritten?: true;
}

interface FolderEntry {
  kind: 'directory';
  path: string;
  mode: number;
}

interface LinkEntry {
  kind: 'symlink';
  path: string;
  target: string;
}

export type TreeEntry = FileEntry | FolderEntry | LinkEntry;

/** One version of a tree: all that is kept of it but the contents of its files. */
export interface Manifest {
  /** In the order of the bytes of their paths. */
  entries: TreeEntry[];
  /** The objects that hold the contents. */
  packs: { key: string; size: number }[];
  /** What the turn that stored the version had delivered by then; null before the first delivery. */
  delivered: Delivered | null;
}

/** What a turn delivered from the folder of outputs, or could not deliver. */
export interface Delivered {
  turnId: string;
  /** The SHA-256 of the last content by the path, the oldest first. */
  contents: Record<string, string>;
}

export const EMPTY_MANIFEST: Manifest = { entries: [], packs: [], delivered: null };

/** Compares two texts by their bytes in UTF-8. JavaScript's own order differs where one has characters beyond U+FFFF. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x === y) continue;
    // Surrogates stand for characters that come after all others.
    if (x >= 0xd800 && y >= 0xd800)
      return (x >= 0xe000 ? x - 0x800 : x + 0x2000) - (y >= 0xe000 ? y - 0x800 : y + 0x2000);
    return x - y;
  }
  return a.length - b.length;
}

export function isFile(entry: TreeEntry): entry is FileEntry {
  return entry.kind === 'file';
}

/** What a name takes in a manifest. */
export function nameBytes(name: string): number {
  return Buffer.byteLength(JSON.stringify(name));
}

/** What an entry takes beside the content of its file: its names, and an estimate for all else that is kept of it. */
export function entryBytes(entry: { path: string; target?: string }): number {
  return BYTES_PER_ENTRY + nameBytes(entry.path) + nameBytes(entry.target ?? '');
}

const BYTES_PER_ENTRY = 128;

/** What is kept of a tree. */
export interface TreeSize {
  /** Of the contents of its files. */
  sizeBytes: number;
  fileCount: number;
  /** Of all entries, beside the contents of files. */
  entryBytes: number;
}

/** All that counts in the limit of a tree and in the storage of its project. */
export function keptBytes({ sizeBytes, entryBytes }: TreeSize): number {
  return sizeBytes + entryBytes;
}

export async function sizeOfTree(entries: TreeEntry[]): Promise<TreeSize> {
  const pauses = new Pauses();
  const size: TreeSize = { sizeBytes: 0, fileCount: 0, entryBytes: 0 };
  for (const entry of entries) {
    if (pauses.isDue) await pauses.take();
    size.entryBytes += entryBytes(entry);
    if (!isFile(entry)) continue;
    size.fileCount += 1;
    size.sizeBytes += entry.size;
  }
  return size;
}

/** Names a tree by all that is kept of it: two trees with the same digest are the same. */
export async function treeDigest(entries: TreeEntry[]): Promise<string> {
  const pauses = new Pauses();
  const hash = createHash('sha256');
  for (const entry of entries) {
    if (pauses.isDue) await pauses.take();
    hash.update(`${JSON.stringify(factsOf(entry))}\n`);
  }
  return hash.digest('hex');
}

function factsOf(entry: TreeEntry): (string | number)[] {
  const { kind, path } = entry;
  if (kind === 'symlink') return [kind, path, entry.target];
  return kind === 'directory'
    ? [kind, path, entry.mode]
    : [kind, path, entry.mode, entry.size, entry.mtime, entry.sha256];
}

export interface Changes {
  created: string[];
  modified: string[];
  deleted: string[];
}

/** The paths that differ between two trees, in order. */
export async function diffEntries(before: TreeEntry[], after: TreeEntry[]): Promise<Changes> {
  const pauses = new Pauses();
  const changes: Changes = { created: [], modified: [], deleted: [] };
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (pauses.isDue) await pauses.take();
    const [old, now] = [before[i], after[j]];
    const order = old === undefined ? 1 : now === undefined ? -1 : comparePaths(old.path, now.path);
    if (order < 0) changes.deleted.push(old!.path);
    else if (order > 0) changes.created.push(now!.path);
    else if (!isSame(old!, now!)) changes.modified.push(now!.path);
    if (order <= 0) i += 1;
    if (order >= 0) j += 1;
  }
  return changes;
}

function isSame(a: TreeEntry, b: TreeEntry): boolean {
  const [facts, others] = [factsOf(a), factsOf(b)];
  return facts.length === others.length && facts.every((fact, at) => fact === others[at]);
}

/** The stored form: gzip of JSON, with its fields in this order, in which a file names its pack by its place in the list of packs. */
interface Stored {
  packs: [key: string, size: number][];
  entries: StoredEntry[];
  /** Indices of the entries that are written. Not in versions of an earlier format. */
  written?: number[];
  /** A list of marks in versions of an earlier format, which nothing reads. */
  delivered: Delivered | string[] | null;
}

type StoredEntry =
  | [kind: 'f', path: string, mode: number, size: number, mtime: number, sha256: string, pack: number, offset: number]
  | [kind: 'd', path: string, mode: number]
  | [kind: 'l', path: string, target: string];

/** Entries that are written at once. */
const ENTRIES_AT_ONCE = 100;
/** Bytes that are read at once. */
const BYTES_AT_ONCE = 256 * 1024;
const BEGIN = ',"entries":[';
/** One entry, in this version's manifests and in those of all earlier ones. */
const ENTRY = /\["[fdl]",(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]/y;

const unzip = promisify(gunzip);

/** Encodes a manifest in pieces: one of 20,000 entries would take the event loop for a second. */
export async function encodeManifest(manifest: Manifest): Promise<Buffer> {
  const zipped = Readable.from(piecesOf(manifest)).pipe(createGzip({ level: 1 }));
  return Buffer.concat((await zipped.toArray()) as Buffer[]);
}

function* piecesOf({ entries, packs, delivered }: Manifest): Generator<string> {
  const numbers = new Map(packs.map(({ key }, index) => [key, index]));
  const storedOf = (entry: TreeEntry): StoredEntry => {
    if (entry.kind === 'directory') return ['d', entry.path, entry.mode];
    if (entry.kind === 'symlink') return ['l', entry.path, entry.target];
    const { path, mode, size, mtime, sha256, at } = entry;
    return ['f', path, mode, size, mtime, sha256, at === null ? -1 : numbers.get(at.pack)!, at?.offset ?? 0];
  };
  yield `{"packs":${JSON.stringify(packs.map(({ key, size }): Stored['packs'][number] => [key, size]))}${BEGIN}`;
  for (let at = 0; at < entries.length; at += ENTRIES_AT_ONCE) {
    const piece = JSON.stringify(entries.slice(at, at + ENTRIES_AT_ONCE).map(storedOf));
    yield `${at === 0 ? '' : ','}${piece.slice(1, -1)}`;
  }
  const written = entries.flatMap((entry, index) => (isFile(entry) && entry.isWritten ? index : []));
  yield `],"written":${JSON.stringify(written)},"delivered":${JSON.stringify(delivered)}}`;
}

/**
 * Decodes a manifest in pieces.
 * @param maxBytes of its JSON
 * @throws Error if it is damaged or larger
 */
export async function decodeManifest(bytes: Buffer, maxBytes = Number.MAX_SAFE_INTEGER): Promise<Manifest> {
  const pauses = new Pauses();
  const json = await unzip(bytes, { maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH) });
  const decoder = new TextDecoder();
  let head: string | null = null;
  let packs: Manifest['packs'] = [];
  const entries: TreeEntry[] = [];
  const entryOf = (entry: StoredEntry): TreeEntry => {
    if (entry[0] === 'd') return { kind: 'directory', path: entry[1], mode: entry[2] };
    if (entry[0] === 'l') return { kind: 'symlink', path: entry[1], target: entry[2] };
    const [, path, mode, size, mtime, sha256, pack, offset] = entry;
    return { kind: 'file', path, mode, size, mtime, sha256, at: pack < 0 ? null : { pack: packs[pack]!.key, offset } };
  };
  let rest = '';
  for (let at = 0; at < json.length; at += BYTES_AT_ONCE) {
    rest += decoder.decode(json.subarray(at, at + BYTES_AT_ONCE), { stream: true });
    if (head === null) {
      const begin = rest.indexOf(BEGIN);
      if (begin < 0) continue;
      head = rest.slice(0, begin);
      packs = (JSON.parse(`${head}}`) as Pick<Stored, 'packs'>).packs.map(([key, size]) => ({ key, size }));
      rest = rest.slice(begin + BEGIN.length);
    }
    let from = 0;
    for (;;) {
      if (pauses.isDue) await pauses.take();
      ENTRY.lastIndex = from;
      const found = ENTRY.exec(rest);
      if (found === null) break;
      entries.push(entryOf(JSON.parse(found[0]) as StoredEntry));
      from += found[0].length;
      if (rest[from] === ',') from += 1;
    }
    rest = rest.slice(from);
  }
  const { entries: unread, written = [], delivered } = JSON.parse(`${head}${BEGIN}${rest}`) as Stored;
  if (unread.length > 0) throw new Error('a manifest has an entry of an unknown kind');
  for (const index of written) {
    const entry = entries[index];
    if (entry?.kind !== 'file') throw new Error('a manifest says of something else than a file that it is written');
    entry.isWritten = true;
  }
  return { packs, entries, delivered: Array.isArray(delivered) ? null : delivered };
}
