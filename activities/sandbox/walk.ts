import { isUtf8 } from 'node:buffer';
import { chmodSync, closeSync, constants, lstatSync, openSync, statSync, type Dir, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { Pauses } from '../../src/platform/pauses.js';
import { MAX_PATH_BYTES } from '../../src/workspaces/layout.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Names that are read of a folder at once: a command may put a million into one. */
const NAMES_AT_ONCE = 256;
/** A descriptor that only names a file. */
const O_PATH = 0o10000000;

/** An entry of a tree on disk. */
export interface DiskEntry {
  /** Below the folder of the walk; null if a name of it is no UTF-8. */
  path: string | null;
  /** Names the entry while the walk is at it: no link on the way can lead elsewhere. */
  handle: string | Buffer;
  stats: Stats;
}

interface WalkOptions {
  /** Makes a folder readable whose owner has taken the rights from it; for trees in which nothing runs. */
  opens?: boolean;
  /** Also enters folders that no tree may have: with names that are not UTF-8, and nested beyond the longest path. */
  entersAll?: boolean;
  /** Called for a folder that could not be entered. */
  onClosed?: () => void;
}

/**
 * Walks all entries below a folder, a folder before what is in it. Each folder is opened without following a link, and its
 * entries are named through its descriptor: a command that runs meanwhile cannot lead the walk out of its tree.
 */
export async function* walk(
  folder: string,
  { opens = false, entersAll = false, onClosed = (): void => undefined }: WalkOptions = {},
): AsyncGenerator<DiskEntry> {
  const pauses = new Pauses();
  const waiting: { path: string | null; parent: Open | null; name: string | Buffer }[] = [
    { path: '', parent: null, name: folder },
  ];
  while (waiting.length > 0) {
    const { path, parent, name } = waiting.pop()!;
    const opened = openFolder(parent === null ? name : inFolder(parent, name), entersAll);
    release(parent);
    if (opened === null) {
      onClosed();
      continue;
    }
    const open: Open = { descriptor: opened, users: 1 };
    try {
      for await (const raw of namesIn(open, entersAll, onClosed)) {
        if (pauses.isDue) await pauses.take();
        const name = isUtf8(raw) ? raw.toString() : raw;
        const handle = inFolder(open, name);
        const stats = lstat(handle, onClosed);
        if (stats === null) continue;
        const entry = { path: path === null || name === raw ? null : join(path, name as string), handle, stats };
        yield entry;
        const isAllowed = entry.path !== null && Buffer.byteLength(entry.path) <= MAX_PATH_BYTES;
        if (!stats.isDirectory() || !(isAllowed || entersAll)) continue;
        if (opens && (stats.mode & 0o700) !== 0o700) chmodSync(handle, (stats.mode & 0o777) | 0o700);
        open.users += 1;
        waiting.push({ path: entry.path, parent: open, name });
      }
    } finally {
      release(open);
    }
  }
}

function inFolder(open: Open, name: string | Buffer): string | Buffer {
  return typeof name === 'string'
    ? `${handleOf(open)}/${name}`
    : Buffer.concat([Buffer.from(`${handleOf(open)}/`), name]);
}

/** A folder that stays open until what is in it was walked. */
interface Open {
  descriptor: number;
  users: number;
}

function release(open: Open | null): void {
  if (open === null) return;
  open.users -= 1;
  if (open.users === 0) closeSync(open.descriptor);
}

function handleOf({ descriptor }: Open): string {
  return `/proc/self/fd/${descriptor}`;
}

/**
 * Null for what is no folder any more, or may not be entered.
 * @param closed takes a folder that cannot be read, too
 */
function openFolder(path: string | Buffer, closed: boolean): number | null {
  for (const access of closed ? [O_RDONLY, O_PATH] : [O_RDONLY]) {
    try {
      return openSync(path, access | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') return null;
    }
  }
  return null;
}

/**
 * The names in an open folder, as their bytes; none if they cannot be read.
 * @param peeks gives the owner the right to read for the moment of opening, where it is missing
 */
async function* namesIn(open: Open, peeks: boolean, onClosed: () => void): AsyncGenerator<Buffer> {
  const names = await openNames(handleOf(open)).catch(() => (peeks ? openClosed(handleOf(open)) : null));
  if (names === null) return onClosed();
  for await (const { name } of names) yield name as unknown as Buffer;
}

function openNames(folder: string): Promise<Dir> {
  // Node's types know names as texts only.
  return opendir(folder, { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_AT_ONCE });
}

async function openClosed(folder: string): Promise<Dir | null> {
  try {
    const mode = statSync(folder).mode & 0o7777;
    chmodSync(folder, mode | 0o500);
    try {
      return await openNames(folder);
    } finally {
      chmodSync(folder, mode);
    }
  } catch {
    return null;
  }
}

/** Null for what is gone, or is in a folder that may not be entered. */
function lstat(handle: string | Buffer, onClosed: () => void): Stats | null {
  try {
    return lstatSync(handle, { throwIfNoEntry: false }) ?? null;
  } catch {
    onClosed();
    return null;
  }
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
