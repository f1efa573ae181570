import type { Logger } from '../../src/platform/logger.js';
import { GIB } from '../../src/platform/units.js';
import { isDiskFull } from './disk-space.js';
import type { Tree } from './tree.js';

/** What trees that wait for their next command may take on the disk of a worker. */
const MAX_BYTES = 10 * GIB;
export const MAX_TREES = 500;
/** A tree of a session that is deleted goes at once; if a worker has missed that, after this time without a command. */
const MAX_AGE_MS = 24 * 3_600_000;

interface Cached {
  tree: Tree;
  /** Names the version that the tree is (`treeDigest`). */
  digest: string;
  /** What it takes on the disk. */
  bytes: number;
}

interface Kept extends Cached {
  /** When it was put, by `performance.now()`. */
  since: number;
}

/**
 * The trees of sessions that have no command now, the least recently used first. A tree is used again only if it is exactly the
 * version that a command begins with: one whose changes were not stored is thrown away then.
 */
export class TreeCache {
  readonly #trees = new Map<string, Kept>();
  #bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly log: Logger,
    private readonly remove: (tree: Tree) => Promise<void>,
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
    this.#trees.set(sessionId, { ...cached, since: performance.now() });
    this.#bytes += cached.bytes;
    const isFull = await isDiskFull(this.folder);
    for (const id of this.#trees.keys()) {
      if (!isFull && this.#bytes <= MAX_BYTES && this.#trees.size <= MAX_TREES) return;
      void this.dispose(id);
    }
  }

  /** Removes trees that no command has used for a day. */
  async removeOld(maxAgeMs = MAX_AGE_MS): Promise<void> {
    for (const [id, { since }] of this.#trees) {
      if (performance.now() - since < maxAgeMs) return;
      await this.dispose(id);
    }
  }

  async dispose(sessionId: string): Promise<void> {
    const cached = this.#remove(sessionId);
    if (cached !== null) await this.discard(cached.tree);
  }

  /** Removes a tree from the disk. */
  async discard(tree: Tree): Promise<void> {
    try {
      await this.remove(tree);
      this.onGone(tree);
    } catch (err) {
      this.log.warn({ err }, 'a tree of a workspace could not be removed from the disk');
    }
  }

  /** The folder of the trees is gone. */
  forget(): void {
    for (const { tree } of this.#trees.values()) this.onGone(tree);
    this.#trees.clear();
    this.#bytes = 0;
  }

  #remove(sessionId: string): Cached | null {
    const cached = this.#trees.get(sessionId);
    if (cached === undefined) return null;
    this.#trees.delete(sessionId);
    this.#bytes -= cached.bytes;
    return cached;
  }
}
