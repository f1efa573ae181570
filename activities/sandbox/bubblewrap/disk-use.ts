import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { MIB } from '../../../src/platform/units.js';
import type { MeasuredTree } from '../tree.js';
import { processesOf } from './memory-use.js';

const BLOCK = 4096;
/** While the disk has lost less, the tree is not measured. */
const STEP = 8 * MIB;
/** A walk over the tree is followed by a pause of as many times its length. */
const PAUSES = 4;
/** What the folders of a tree and the file system itself may take beyond its files. */
const SLACK = MIB;
/** What the disk may lose to others without a reason that this process knows. */
const UNKNOWN_SLACK = 64 * MIB;
/** Among more open files than these, those without a name are not looked for. */
const MAX_OPEN = 8192;

/** The tree on which a command works, with its limits. */
export interface WatchedTree {
  folder: string;
  maxBytes: number;
  maxEntries: number;
  /** The bytes of its files when the command began. */
  startBytes: number;
  /** What it takes of the file system that it has for itself, whose size is its limit; null: it has none. */
  used: (() => Promise<{ bytes: number; entries: number }>) | null;
  measure(): Promise<MeasuredTree>;
}

/** Looks at what a tree takes while a command works on it. */
export interface DiskUse {
  isOver(): Promise<boolean>;
  /** What it takes more than when the command began, at the last look. */
  grown(): number;
  end(): void;
}

export function diskUse(tree: WatchedTree, pid: number): DiskUse {
  return tree.used === null ? new SharedDisk(tree, pid) : new OwnDisk(tree, tree.used);
}

/** A tree in a file system of its own, which tells what it takes: no file has to be looked at. */
class OwnDisk implements DiskUse {
  #bytes = 0;

  constructor(
    private readonly tree: WatchedTree,
    private readonly used: () => Promise<{ bytes: number; entries: number }>,
  ) {}

  async isOver(): Promise<boolean> {
    const { bytes, entries } = await this.used();
    this.#bytes = bytes;
    // The last block of each entry may be almost empty.
    return bytes > this.tree.maxBytes + entries * BLOCK + SLACK || entries > this.tree.maxEntries;
  }

  grown(): number {
    return this.#bytes - this.tree.startBytes;
  }

  end(): void {
    // Others need not know it.
  }
}

const shared = new Set<SharedDisk>();

/** A tree on a disk that others use, too. */
class SharedDisk implements DiskUse {
  readonly #freeBefore: Promise<number | null>;
  /** The space when the tree was measured last, and when it may be measured again. */
  #measuredAt: number | null = null;
  #mayMeasure = 0;
  #bytes: number;

  constructor(
    private readonly tree: WatchedTree,
    private readonly pid: number,
  ) {
    this.#bytes = tree.startBytes;
    this.#freeBefore = this.#free().catch(() => null);
    shared.add(this);
  }

  async isOver(): Promise<boolean> {
    const { maxBytes, maxEntries } = this.tree;
    const free = await this.#free();
    const began = performance.now();
    if ((this.#measuredAt !== null && this.#measuredAt - free < STEP) || began < this.#mayMeasure) return false;
    this.#measuredAt = free;
    const { bytes, taken, entries, isWhole } = await this.tree.measure();
    this.#mayMeasure = performance.now() + PAUSES * (performance.now() - began);
    this.#bytes = Math.max(bytes, taken - entries * BLOCK);
    // Some file systems give a growing file twice the blocks that it needs.
    if (bytes > maxBytes || entries > maxEntries || taken > 2 * maxBytes + entries * BLOCK) return true;
    const unknown = (await this.#lost()) - grownTogether();
    if (isWhole && unknown < STEP) return false;
    const unnamed = await this.#unnamed();
    this.#bytes += unnamed.bytes;
    if (bytes + unnamed.bytes > maxBytes) return true;
    return !(isWhole && unnamed.isWhole) && unknown - unnamed.bytes > maxBytes + UNKNOWN_SLACK;
  }

  /** What the disk has less than when the command began. */
  async #lost(): Promise<number> {
    const [before, now] = [await this.#freeBefore, await this.#free()];
    return before === null ? STEP : before - now;
  }

  grown(): number {
    return this.#bytes - this.tree.startBytes;
  }

  end(): void {
    shared.delete(this);
  }

  async #free(): Promise<number> {
    const { bavail, bsize, ffree } = await statfs(this.tree.folder);
    // Ten thousand empty files take no blocks, but inodes.
    return bavail * bsize + ffree * BLOCK;
  }

  /** What open files take that have no name any more. Not whole: a process hides its files, or keeps some without having them open. */
  async #unnamed(): Promise<{ bytes: number; isWhole: boolean }> {
    const { dev } = await stat(this.tree.folder);
    const files = new Map<number, number>();
    let [looked, isWhole] = [0, true];
    for (const pid of await processesOf(this.pid)) {
      const open = await readdir(`/proc/${pid}/fd`).catch(hidden);
      const maps = await readFile(`/proc/${pid}/maps`, 'latin1').catch(hidden);
      if (open === 'hidden' || maps === 'hidden' || looked > MAX_OPEN) {
        isWhole = false;
        continue;
      }
      if (/ \/(?!dev\/zero ).* \(deleted\)$/m.test(maps ?? '')) isWhole = false;
      looked += (open ?? []).length;
      for (const fd of open ?? []) {
        const stats = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null);
        if (stats?.isFile() && stats.nlink === 0 && stats.dev === dev) files.set(stats.ino, stats.blocks * 512);
      }
    }
    return { bytes: [...files.values()].reduce((total, bytes) => total + bytes, 0), isWhole };
  }
}

/** Null: the process has ended. */
function hidden({ code }: NodeJS.ErrnoException): 'hidden' | null {
  return code === 'EACCES' || code === 'EPERM' ? 'hidden' : null;
}

/** What all commands of this process have taken of disks that they share. */
function grownTogether(): number {
  return [...shared].reduce((total, use) => total + Math.max(0, use.grown()), 0);
}
