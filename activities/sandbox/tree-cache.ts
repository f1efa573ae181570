import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Logger } from '../../src/platform/logger.js';
import { GIB } from '../../src/platform/units.js';
import type { Tree } from './tree.js';

/** What trees that wait for their next command may take on the disk of a worker. */
const MAX_BYTES = 10 * GIB;
const MAX_TREES = 1000;
/** This share of the disk stays free. */
const MIN_FREE = 0.05;

interface Cached {
  tree: Tree;
  /** Names the version that the tree is (`treeDigest`). */
  digest: string;
  bytes: number;
}

/**
 * The trees of sessions that have no command now, the least recently used first. A tree is used again only if it is exactly the
 * version that a command begins with: one whose changes were not stored is thrown away then.
 */
export class TreeCache {
  readonly #trees = new Map<string, Cached>();
  #bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly log: Logger,
    /** Called when a tree is gone from the disk. */
    private readonly onGone: (tree: Tree) => void,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the session's tree out of the cache; null if it has none of this version. */
  take(sessionId: string, digest: string): Tree | null {
    const cached = this.#remove(sessionId);
    if (cached === null || cached.digest === digest) return cached?.tree ?? null;
    void this.discard(cached.tree);
    return null;
  }

  async put(sessionId: string, cached: Cached): Promise<void> {
    void this.dispose(sessionId);
    this.#trees.set(sessionId, cached);
    this.#bytes += cached.bytes;
    const isFull = await this.#isDiskFull();
    for (const id of this.#trees.keys()) {
      if (!isFull && this.#bytes <= MAX_BYTES && this.#trees.size <= MAX_TREES) return;
      void this.dispose(id);
    }
  }

  async dispose(sessionId: string): Promise<void> {
    const cached = this.#remove(sessionId);
    if (cached !== null) await this.discard(cached.tree);
  }

  /** Removes a tree from the disk. `rm` also removes folders that are nested deeper than a path can say. */
  async discard(tree: Tree): Promise<void> {
    const { folder, owner } = tree;
    try {
      // An ordinary user cannot empty a folder whose rights were taken away.
      if (owner === null) await promisify(execFile)('chmod', ['-R', 'u+rwx', '--', folder]);
      await promisify(execFile)('rm', ['-rf', '--', folder]);
      this.onGone(tree);
    } catch (err) {
      this.log.warn({ err }, 'a tree of a workspace could not be removed from the disk');
    }
  }

  async #isDiskFull(): Promise<boolean> {
    const { bavail, blocks } = await statfs(this.folder);
    return bavail < blocks * MIN_FREE;
  }

  #remove(sessionId: string): Cached | null {
    const cached = this.#trees.get(sessionId);
    if (cached === undefined) return null;
    this.#trees.delete(sessionId);
    this.#bytes -= cached.bytes;
    return cached;
  }
}
