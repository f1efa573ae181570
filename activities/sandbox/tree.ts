import { isUtf8 } from 'node:buffer';
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  createReadStream,
  lchownSync,
  mkdirSync,
  openSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Pauses } from '../../src/platform/pauses.js';
import { sortInPieces } from '../../src/platform/sort-in-pieces.js';
import { MIB } from '../../src/platform/units.js';
import {
  KEPT_FOLDERS,
  MAX_ENTRIES,
  MAX_NAME_BYTES,
  MAX_PATH_BYTES,
  MAX_TARGET_BYTES,
} from '../../src/workspaces/layout.js';
import {
  comparePaths,
  entryBytes,
  isFile,
  nameBytes,
  type FileEntry,
  type Manifest,
  type TreeEntry,
} from '../../src/workspaces/manifest.js';
import { contentsOf, type ContentReader, type StoredContent } from '../../src/workspaces/packs.js';
import { removeTree } from './remove-tree.js';
import { walk, type DiskEntry } from './walk.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/**
 * Files up to this size are read and written at once. All other work whose length a command chose, such as copies and removals, is
 * done in pieces, by a thread of the pool or by a process: see the rule for this folder in .oxlintrc.json.
 */
const SMALL = 256 * 1024;
/** A folder beside the kept ones: a scan puts there what it removes, and writes copies. No command sees it. */
const ASIDE = 'aside';
/**
 * A file that was changed so shortly before it was read may be changed again without a new time: the clock of a file system
 * moves on every few milliseconds.
 */
const CLOCK_STEP_MS = 20;

/** The user that owns a tree and runs its commands; null: the worker's own. */
export interface Owner {
  uid: number;
  gid: number;
}

/** A file as it was when its content was read: while nothing of it changes, its content is the same. */
interface Known {
  ino: number;
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  sha256: string;
}

interface ScannedTree {
  entries: TreeEntry[];
  /** How many entries were removed: pipes, sockets, names that are not UTF-8, and links whose target is too long. */
  notKept: number;
  /** The tree is over a limit: `entries` is not complete. */
  isOver: boolean;
  /** What the entries take on the disk. */
  taken: number;
}

export interface MeasuredTree {
  /** Of files, at most what each takes. */
  bytes: number;
  /** What all entries take on the disk. */
  taken: number;
  entries: number;
  /** False: a folder could not be entered. */
  isWhole: boolean;
}

/** A kept entry, before its content is read. */
interface Found {
  path: string;
  stats: Stats;
  /** Empty except of links. */
  target: string;
}

/** The codes of a disk that is full, by its size or by a quota. */
const NO_ROOM = new Set<string | undefined>(['ENOSPC', 'EDQUOT']);

/** A tree on disk, in a folder of its own with one folder for each that is kept. Nothing else writes to it between commands. */
export class Tree {
  readonly #known = new Map<string, Known>();
  /** Files that have changed later were made or written by the commands of this sandbox. */
  #beganAtMs = Infinity;
  #hasAside = false;

  constructor(
    readonly folder: string,
    readonly owner: Owner | null,
  ) {}

  /** Makes the empty folders. */
  create(): void {
    mkdirSync(this.folder, { mode: 0o700, recursive: true });
    chmodSync(this.folder, 0o711);
    for (const { name, mode } of KEPT_FOLDERS) {
      const folder = join(this.folder, name);
      mkdirSync(folder);
      this.#settle(folder, mode);
    }
  }

  /**
   * Writes a version to the empty tree: folders, then files, and links at last, so that nothing is written through one.
   * @throws what the reader throws
   */
  async restore(reader: ContentReader, manifest: Manifest, signal: AbortSignal): Promise<void> {
    const pauses = new Pauses();
    const folders = manifest.entries.filter((entry) => entry.kind === 'directory');
    for (const { path } of folders) {
      if (pauses.isDue) await pauses.take();
      mkdirSync(this.#place(path), { mode: 0o700 });
    }
    for (const file of manifest.entries.filter(isFile)) {
      if (pauses.isDue) await pauses.take();
      if (file.at === null) this.#write(file, Buffer.alloc(0));
    }
    try {
      for (const content of contentsOf(manifest)) await this.#restoreContent(reader, content, pauses, signal);
    } finally {
      await reader.close();
    }
    for (const entry of manifest.entries) {
      if (entry.kind !== 'symlink') continue;
      if (pauses.isDue) await pauses.take();
      const place = this.#place(entry.path);
      symlinkSync(entry.target, place);
      if (this.owner !== null) lchownSync(place, this.owner.uid, this.owner.gid);
    }
    // The inner ones first: a folder may be read-only.
    for (const { path, mode } of folders.toReversed()) {
      if (pauses.isDue) await pauses.take();
      this.#settle(this.#place(path), mode);
    }
  }

  /** Notes the time of the file system, before the first command. A copy may keep the old time and content of a file: its ctime tells. */
  begin(): void {
    const now = new Date();
    utimesSync(this.folder, now, now);
    this.#beganAtMs = lstatSync(this.folder).ctimeMs;
  }

  async #restoreContent(
    reader: ContentReader,
    content: StoredContent,
    pauses: Pauses,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const [first, ...copies] = content.files;
    if (content.size <= SMALL) {
      const bytes = Buffer.concat((await Readable.from(reader.read(content)).toArray()) as Buffer[]);
      for (const file of content.files) {
        if (pauses.isDue) await pauses.take();
        this.#write(file, bytes);
      }
      return;
    }
    const place = this.#place(first!.path);
    const handle = await open(place, 'wx', 0o600);
    try {
      for await (const chunk of reader.read(content)) await handle.writeFile(chunk);
    } finally {
      await handle.close();
    }
    for (const file of copies) {
      signal.throwIfAborted();
      await copyFile(place, this.#place(file.path), constants.COPYFILE_EXCL);
      this.#finish(file);
    }
    this.#finish(first!);
  }

  #write(file: FileEntry, bytes: Buffer): void {
    writeFileSync(this.#place(file.path), bytes, { flag: 'wx', mode: 0o600 });
    this.#finish(file);
  }

  /** Sets owner, mode and time of a written file, and remembers its content. */
  #finish(file: FileEntry): void {
    const place = this.#place(file.path);
    this.#settle(place, file.mode);
    // Half a microsecond more: in seconds the time is no exact number, and would be cut to the millisecond before.
    const time = (file.mtime + 0.0005) / 1000;
    utimesSync(place, time, time);
    const stats = statsOf(place);
    if (stats !== null) this.#remember(file.path, stats, file.sha256);
  }

  #settle(place: string, mode: number): void {
    if (this.owner !== null) lchownSync(place, this.owner.uid, this.owner.gid);
    chmodSync(place, mode);
  }

  /** @throws Error for a path that is not in a kept folder */
  #place(path: string): string {
    const kept = KEPT_FOLDERS.find((folder) => path.startsWith(`${folder.path}/`));
    if (kept === undefined || path.split('/').some((name) => name === '..' || name === '.')) {
      throw new Error('a workspace names a path outside of its folders');
    }
    return `${this.folder}/${kept.name}${path.slice(kept.path.length)}`;
  }

  /**
   * Reads the tree after a command, when nothing runs in it any more. What is not kept is removed: pipes, sockets, devices,
   * names that are not UTF-8, links whose target is too long, setuid bits, and the tie of hard links. Only files that may have
   * changed are read.
   */
  async scan(maxBytes: number): Promise<ScannedTree> {
    const pauses = new Pauses();
    const found: Found[] = [];
    let [notKept, bytes, names, taken] = [0, 0, 0, 0];
    const over = (): ScannedTree => ({ entries: [], notKept, isOver: true, taken });
    for (const kept of KEPT_FOLDERS) {
      const root = join(this.folder, kept.name);
      this.#settle(root, kept.mode | 0o700);
      for await (const entry of walk(root, { opens: true })) {
        const target = entry.stats.isSymbolicLink() ? readlinkSync(entry.handle, 'buffer') : null;
        if (entry.path === null || !isKept(entry.stats, target)) {
          this.#setAside(entry, (notKept += 1));
          continue;
        }
        const one: Found = { path: `${kept.path}/${entry.path}`, stats: entry.stats, target: target?.toString() ?? '' };
        names += nameBytes(one.path) + nameBytes(one.target);
        bytes += entryBytes(one) + (entry.stats.isFile() ? entry.stats.size : 0);
        taken += entry.stats.blocks * 512;
        const isPathTooLong = Buffer.byteLength(one.path) > MAX_PATH_BYTES;
        if (found.length >= MAX_ENTRIES || isPathTooLong || names > MAX_NAME_BYTES || bytes > maxBytes) return over();
        if (entry.stats.isDirectory() && (entry.stats.mode & 0o7000) !== 0) {
          chmodSync(entry.handle, (entry.stats.mode & 0o777) | 0o700);
        }
        found.push(one);
        if (pauses.isDue) await pauses.take();
      }
    }
    const entries: TreeEntry[] = [];
    for (const one of await sortInPieces(found, (a, b) => comparePaths(a.path, b.path))) {
      const entry = await this.#entryOf(one);
      if (entry === 'no room') return over();
      entries.push(entry);
      if (pauses.isDue) await pauses.take();
    }
    this.#forgetOthers(entries);
    if (this.#hasAside) await removeTree(this.#aside);
    this.#hasAside = false;
    return { entries, notKept, isOver: false, taken };
  }

  get #aside(): string {
    return join(this.folder, ASIDE);
  }

  /** A new place outside of the kept folders. */
  #placeAside(name: string): string {
    if (!this.#hasAside) mkdirSync(this.#aside, { mode: 0o700 });
    this.#hasAside = true;
    return join(this.#aside, name);
  }

  /** Takes an entry out of the tree, whatever is in it, in one step. */
  #setAside({ handle, stats }: DiskEntry, number: number): void {
    // Of an ordinary user the kernel wants the right to write to a folder that moves.
    if (stats.isDirectory()) chmodSync(handle, 0o700);
    renameSync(handle, this.#placeAside(String(number)));
  }

  async #entryOf({ path, stats, target }: Found): Promise<TreeEntry | 'no room'> {
    const mode = stats.mode & 0o777;
    if (stats.isSymbolicLink()) return { kind: 'symlink', path, target };
    if (stats.isDirectory()) return { kind: 'directory', path, mode };
    const place = this.#place(path);
    const isPlain = stats.nlink === 1 && (stats.mode & 0o7400) === 0o400;
    if (!isPlain) chmodSync(place, mode | 0o400);
    if (stats.nlink > 1 && !(await this.#untie(place))) return 'no room';
    const sha256 = await this.#digest(path, place, stats);
    if (!isPlain) chmodSync(place, mode);
    this.#remember(path, isPlain ? stats : (statsOf(place) ?? stats), sha256);
    const { size, mtimeMs, ctimeMs } = stats;
    const isWritten = ctimeMs > this.#beganAtMs;
    return {
      kind: 'file',
      path,
      mode,
      size,
      mtime: Math.floor(mtimeMs),
      sha256,
      at: null,
      ...(isWritten && { isWritten }),
    };
  }

  /**
   * Gives a name of a file with several names a file of its own; the last of them keeps the file. Returns false if the disk has no
   * room for it.
   */
  async #untie(place: string): Promise<boolean> {
    const { uid, gid, mode, atimeMs, mtimeMs, nlink } = lstatSync(place);
    if (nlink === 1) return true;
    const copy = this.#placeAside(randomUUID());
    try {
      await copyFile(place, copy, constants.COPYFILE_EXCL);
    } catch (error) {
      if (NO_ROOM.has((error as NodeJS.ErrnoException).code)) return false;
      throw error;
    }
    lchownSync(copy, uid, gid);
    chmodSync(copy, mode & 0o777);
    utimesSync(copy, atimeMs / 1000, (Math.floor(mtimeMs) + 0.0005) / 1000);
    renameSync(copy, place);
    return true;
  }

  async #digest(path: string, handle: string, stats: Stats): Promise<string> {
    const known = this.#known.get(path);
    if (known !== undefined && isUnchanged(known, stats)) return known.sha256;
    const hash = createHash('sha256');
    if (stats.size <= SMALL) return hash.update(readSmall(handle)).digest('hex');
    const content = createReadStream(handle, {
      flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
      highWaterMark: MIB,
    } as object);
    for await (const chunk of content) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  #remember(path: string, { ino, size, mtimeMs, ctimeMs }: Stats, sha256: string): void {
    if (ctimeMs > Date.now() - CLOCK_STEP_MS) this.#known.delete(path);
    else this.#known.set(path, { ino, size, mtimeMs, ctimeMs, sha256 });
  }

  #forgetOthers(entries: TreeEntry[]): void {
    if (this.#known.size <= entries.length) return;
    const paths = new Set(entries.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#known.delete(path);
  }

  /** Opens a file of a tree that was scanned and is not sealed. */
  contentOf({ path, mode }: Pick<FileEntry, 'path' | 'mode'>): Readable {
    const place = this.#place(path);
    const isClosed = (mode & 0o400) === 0;
    if (isClosed) chmodSync(place, mode | 0o400);
    const fd = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (isClosed) chmodSync(place, mode);
    return createReadStream('', { fd, highWaterMark: SMALL });
  }

  /** Takes back the rights that a scan has given to the folders' owner. Then the tree is the version of the scan. */
  async seal(entries: TreeEntry[]): Promise<void> {
    const pauses = new Pauses();
    for (const entry of entries.toReversed()) {
      if (pauses.isDue) await pauses.take();
      if (entry.kind === 'directory' && (entry.mode & 0o700) !== 0o700) chmodSync(this.#place(entry.path), entry.mode);
    }
  }

  /** What the tree has by now, while a command runs. Links are not followed. */
  async measure(): Promise<MeasuredTree> {
    const measured = { bytes: 0, taken: 0, entries: 0, isWhole: true };
    const onClosed = (): void => void (measured.isWhole = false);
    for (const { name } of KEPT_FOLDERS) {
      for await (const { stats } of walk(join(this.folder, name), { entersAll: true, onClosed })) {
        measured.entries += 1;
        const taken = stats.blocks * 512;
        measured.taken += taken;
        // A file with holes counts by what it takes now; a scan counts its size.
        if (stats.isFile()) measured.bytes += Math.min(stats.size, taken);
        if (measured.entries > MAX_ENTRIES) return measured;
      }
    }
    return measured;
  }
}

function isKept(stats: Stats, target: Buffer | null): boolean {
  if (target !== null) return target.length <= MAX_TARGET_BYTES && isUtf8(target);
  return stats.isFile() || stats.isDirectory();
}

function statsOf(place: string): Stats | null {
  return lstatSync(place, { throwIfNoEntry: false }) ?? null;
}

/** Reads a file of at most `SMALL` bytes in a tree in which nothing runs. */
function readSmall(place: string): Buffer {
  const fd = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function isUnchanged(known: Known, { ino, size, mtimeMs, ctimeMs }: Stats): boolean {
  return known.ino === ino && known.size === size && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs;
}
