import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, rmdir, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { MIB } from '../../../src/platform/units.js';
import { MAX_ENTRIES } from '../../../src/workspaces/layout.js';

const run = promisify(execFile);
const BLOCK = 4096;
/** For the tables of the file system, and what it needs for its own folders. */
const TABLES = 32 * MIB;
/** Entries that no tree has: `lost+found`, and those that a file system keeps for itself. */
const OTHER_ENTRIES = 64;
/** Nothing in it outlives the worker: it needs no journal, and no order of writes. Blocks of removed files go back to the machine. */
const MKFS = ['-q', '-F', '-t', 'ext4', '-O', '^has_journal,^resize_inode', '-E', 'lazy_itable_init=1,nodiscard'];
const OPTIONS = 'loop,nodev,nosuid,noatime,discard,noinit_itable,barrier=0';

/**
 * File systems of trees: each tree has one of its own, in a file without content at first. The kernel keeps the limit of its size,
 * whatever a command does with its files. It takes root's rights on the machine.
 */
export class TreeImages {
  /** What the empty file system has used. */
  #empty = { bytes: 0, entries: 0 };

  private constructor(
    private readonly folder: string,
    private readonly mkfs: string,
  ) {}

  /**
   * @param folder where images are; each tree is at a path of its own
   * @throws Error that says why there can be none
   */
  static async prepare(folder: string, maxBytes: number): Promise<TreeImages> {
    if (process.getuid?.() !== 0) throw new Error('only root may mount a file system');
    const mkfs = ['/usr/sbin/mkfs.ext4', '/sbin/mkfs.ext4', '/usr/bin/mkfs.ext4'].find((path) => existsSync(path));
    if (mkfs === undefined) throw new Error('there is no mkfs.ext4 (package e2fsprogs)');
    const images = new TreeImages(folder, mkfs);
    await mkdir(folder, { mode: 0o700 });
    await images.#makeTemplate(maxBytes);
    const trial = join(folder, 'trial');
    await images.mount(trial);
    const { bytes, entries } = await usedAt(trial);
    images.#empty = { bytes, entries };
    await images.unmount(trial);
    return images;
  }

  get #template(): string {
    return join(this.folder, 'template');
  }

  /** Room for the largest tree that can be stored, each entry with a block of its own. */
  async #makeTemplate(maxBytes: number): Promise<void> {
    const kib = Math.ceil((maxBytes + MAX_ENTRIES * BLOCK + TABLES) / 1024);
    const sizes = ['-m', '0', '-b', String(BLOCK), '-I', '256', '-N', String(MAX_ENTRIES + OTHER_ENTRIES)];
    await run(this.mkfs, [...MKFS, ...sizes, this.#template, `${kib}k`]);
  }

  /** Mounts an empty file system at a path that is not there yet. */
  async mount(path: string): Promise<void> {
    const image = this.#imageOf(path);
    await mkdir(path, { mode: 0o700 });
    try {
      await run('cp', ['--sparse=always', '--', this.#template, image]);
      await run('mount', ['-t', 'ext4', '-o', OPTIONS, image, path]);
    } catch (error) {
      await rm(image, { force: true });
      await rmdir(path);
      throw error;
    }
  }

  async unmount(path: string): Promise<void> {
    // Without the file nothing of it has to be written to the disk.
    await rm(this.#imageOf(path), { force: true });
    await unmountAll([path]);
    await rmdir(path);
  }

  /** What a tree takes by now, with all that has no name any more. */
  async used(path: string): Promise<{ bytes: number; entries: number }> {
    const { bytes, entries } = await usedAt(path);
    return { bytes: bytes - this.#empty.bytes, entries: entries - this.#empty.entries };
  }

  #imageOf(path: string): string {
    return join(this.folder, `${basename(path)}.ext4`);
  }
}

async function usedAt(path: string): Promise<{ bytes: number; entries: number }> {
  const { blocks, bfree, bsize, files, ffree } = await statfs(path);
  return { bytes: (blocks - bfree) * bsize, entries: files - ffree };
}

/** The file systems that are mounted below a folder, as this process sees them. */
export function mountsBelow(folder: string): string[] {
  const paths = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    // The kernel writes some characters as octal numbers.
    .map((path) =>
      path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))),
    );
  return paths.filter((path) => path.startsWith(`${folder}/`));
}

/** Unmounts file systems; one that is in use goes with its last user. */
export async function unmountAll(paths: string[]): Promise<void> {
  if (paths.length > 0) await run('umount', ['-l', '--', ...paths]);
}
