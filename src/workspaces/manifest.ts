import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';

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

export function sizeOfTree(entries: TreeEntry[]): { sizeBytes: number; fileCount: number } {
  const files = entries.filter(isFile);
  return { sizeBytes: files.reduce((sum, { size }) => sum + size, 0), fileCount: files.length };
}

/** Names a tree by all that is kept of it: two trees with the same digest are the same. */
export function treeDigest(entries: TreeEntry[]): string {
  const hash = createHash('sha256');
  for (const entry of entries) hash.update(`${JSON.stringify(factsOf(entry))}\n`);
  return hash.digest('hex');
}

function factsOf(entry: TreeEntry): unknown[] {
  const { kind, path } = entry;
  if (kind === 'symlink') return [kind, path, entry.target];
  return kind === 'directory'
    ? [kind, path, entry.mode]
    : [kind, path, entry.mode, entry.size, entry.mtime, entry.sha256];
}

interface Changes {
  created: string[];
  modified: string[];
  deleted: string[];
}

/** The paths that differ between two trees, in order. */
export function diffEntries(before: TreeEntry[], after: TreeEntry[]): Changes {
  const changes: Changes = { created: [], modified: [], deleted: [] };
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
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
  return JSON.stringify(factsOf(a)) === JSON.stringify(factsOf(b));
}

/** The stored form: gzip of JSON, in which a file names its pack by its place in the list of packs. */
interface Stored {
  packs: [key: string, size: number][];
  entries: (
    | [kind: 'f', path: string, mode: number, size: number, mtime: number, sha256: string, pack: number, offset: number]
    | [kind: 'd', path: string, mode: number]
    | [kind: 'l', path: string, target: string]
  )[];
  /** Indices of the entries that are written. Not in versions of an earlier format. */
  written?: number[];
  /** A list of marks in versions of an earlier format, which nothing reads. */
  delivered: Delivered | string[] | null;
}

const zip = promisify(gzip);
const unzip = promisify(gunzip);

export async function encodeManifest({ entries, packs, delivered }: Manifest): Promise<Buffer> {
  const numbers = new Map(packs.map(({ key }, index) => [key, index]));
  const stored: Stored = {
    packs: packs.map(({ key, size }) => [key, size]),
    entries: entries.map((entry) => {
      if (entry.kind === 'directory') return ['d', entry.path, entry.mode];
      if (entry.kind === 'symlink') return ['l', entry.path, entry.target];
      const { path, mode, size, mtime, sha256, at } = entry;
      return ['f', path, mode, size, mtime, sha256, at === null ? -1 : numbers.get(at.pack)!, at?.offset ?? 0];
    }),
    written: entries.flatMap((entry, index) => (isFile(entry) && entry.isWritten ? index : [])),
    delivered,
  };
  return zip(JSON.stringify(stored), { level: 1 });
}

export async function decodeManifest(bytes: Buffer): Promise<Manifest> {
  const { packs, entries, written = [], delivered } = JSON.parse((await unzip(bytes)).toString()) as Stored;
  const isWritten = new Set(written);
  return {
    packs: packs.map(([key, size]) => ({ key, size })),
    entries: entries.map((entry, index): TreeEntry => {
      if (entry[0] === 'd') return { kind: 'directory', path: entry[1], mode: entry[2] };
      if (entry[0] === 'l') return { kind: 'symlink', path: entry[1], target: entry[2] };
      const [, path, mode, size, mtime, sha256, pack, offset] = entry;
      const at = pack < 0 ? null : { pack: packs[pack]![0], offset };
      return { kind: 'file', path, mode, size, mtime, sha256, at, ...(isWritten.has(index) && { isWritten: true }) };
    }),
    delivered: Array.isArray(delivered) ? null : delivered,
  };
}
