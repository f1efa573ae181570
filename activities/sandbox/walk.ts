import { isUtf8 } from 'node:buffer';
import { chmodSync, closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { Pauses } from '../../src/platform/pauses.js';
import { MAX_PATH_BYTES } from '../../src/workspaces/layout.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Names that are read of a folder at once: a command may put a million into one. */
const NAMES_AT_ONCE = 256;

/** An entry of a tree on disk. */
export interface DiskEntry {
  /** Below the folder of the walk; null if the name is no UTF-8. */
  path: string | null;
  /** Names the entry while the walk is at it: no link on the way can lead elsewhere. */
  handle: string | Buffer;
  stats: Stats;
}

/**
 * Walks all entries below a folder, a folder before what is in it. Each folder is opened without following a link, and its
 * entries are named through its descriptor: a command that runs meanwhile cannot lead the walk out of its tree.
 * Folders that are nested beyond the longest path are not entered.
 * @param opens makes a folder readable whose owner has taken the rights from it; for trees in which nothing runs
 */
export async function* walk(folder: string, { opens = false } = {}): AsyncGenerator<DiskEntry> {
  const pauses = new Pauses();
  const waiting: { path: string; parent: Open | null; name: string }[] = [{ path: '', parent: null, name: folder }];
  while (waiting.length > 0) {
    const { path, parent, name } = waiting.pop()!;
    const opened = openFolder(parent === null ? name : `${handleOf(parent)}/${name}`);
    release(parent);
    if (opened === null) continue;
    const open: Open = { descriptor: opened, users: 1 };
    try {
      for await (const raw of namesIn(handleOf(open))) {
        if (pauses.isDue) await pauses.take();
        const isNamed = isUtf8(raw);
        const name = raw.toString();
        const handle = isNamed ? `${handleOf(open)}/${name}` : Buffer.concat([Buffer.from(`${handleOf(open)}/`), raw]);
        const stats = lstat(handle);
        if (stats === null) continue;
        const entry = { path: isNamed ? join(path, name) : null, handle, stats };
        yield entry;
        if (entry.path === null || !stats.isDirectory() || Buffer.byteLength(entry.path) > MAX_PATH_BYTES) continue;
        if (opens && (stats.mode & 0o700) !== 0o700) chmodSync(handle, (stats.mode & 0o777) | 0o700);
        open.users += 1;
        waiting.push({ path: entry.path, parent: open, name });
      }
    } finally {
      release(open);
    }
  }
}

/** The names in a folder, as their bytes. */
async function* namesIn(handle: string): AsyncGenerator<Buffer> {
  // Node's types know names as texts only.
  const folder = await opendir(handle, { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_AT_ONCE });
  for await (const { name } of folder) yield name as unknown as Buffer;
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

/** Null for what is no folder any more, or may not be read. */
function openFolder(path: string): number | null {
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return null;
  }
}

function lstat(handle: string | Buffer): Stats | null {
  return lstatSync(handle, { throwIfNoEntry: false }) ?? null;
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
