import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ulid } from 'ulid';
import type { Storage } from '../../../src/files/storage.js';
import type { Logger } from '../../../src/platform/logger.js';
import { MIB } from '../../../src/platform/units.js';
import { MAX_ENTRIES } from '../../../src/workspaces/layout.js';
import { isFile, sizeOf, treeDigest, type FileEntry } from '../../../src/workspaces/manifest.js';
import {
  SandboxFailedError,
  type CommandEnd,
  type CommandIo,
  type Sandbox,
  type SandboxAt,
  type SandboxProvider,
  type ScannedTree,
} from '../../../src/workspaces/sandbox.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { Tree, type Owner } from '../tree.js';
import { TreeCache } from '../tree-cache.js';
import { findBubblewrap } from './find.js';
import { MountStore } from './mounts.js';
import { runCommand, type RunOptions } from './run.js';
import { makeSandboxFolder, USERS_PER_PROCESS, type SandboxFolder } from './sandbox-folder.js';

interface SandboxSettings {
  /** SANDBOX_DIR and SANDBOX_ROOT; null: not set. */
  sandboxDir: string | null;
  sandboxRoot: string | null;
  dataDir: string;
  sandboxMemoryMb: number;
  sandboxDiskMb: number;
  sandboxMaxCommands: number;
}

/** The users that trees of this process have. */
const users = new Set<number>();

/** What is made at the first check that finds bubblewrap. */
interface Parts {
  folder: SandboxFolder;
  cache: TreeCache;
  mounts: MountStore;
  disablesUserns: boolean;
}

const CHECK_TIMEOUT_MS = 10_000;
const FETCH = 'Install the package bubblewrap, or run: npm run setup';
const NAMESPACES =
  'User namespaces are needed: Debian and its like have the setting kernel.unprivileged_userns_clone, Ubuntu an AppArmor profile for bwrap, Docker and Kubernetes refuse them by default';

/** Commands in sandboxes of bubblewrap, on this machine's kernel. */
export class BubblewrapProvider implements SandboxProvider {
  readonly #places: FairQueue;
  #parts: Parts | null = null;

  constructor(
    private readonly settings: SandboxSettings,
    private readonly storage: Storage,
    private readonly log: Logger,
  ) {
    const total = settings.sandboxMaxCommands;
    this.#places = new FairQueue({ total, perProject: Math.max(1, Math.floor(total / 2)) });
  }

  /** Bytes of the trees that wait on disk for their next command. */
  get cacheBytes(): number {
    return this.#parts?.cache.bytes ?? 0;
  }

  async check(): Promise<string | null> {
    if (process.platform !== 'linux') return `Workspaces need Linux, this is ${process.platform}.`;
    try {
      const parts = (this.#parts ??= await this.#prepare());
      if (parts === null) return `Workspaces need bubblewrap, and there is no bwrap. ${FETCH}`;
      const tree = this.#newTree(parts.folder);
      try {
        const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
        const io = { cwd: '/', stdin: null, timeoutMs: CHECK_TIMEOUT_MS, onOutput: () => undefined, signal };
        const { code } = await this.#run(
          tree,
          [],
          ['bash', '-c', 'test "$(id -u)" = 1000 && test ! -e /etc/shadow'],
          io,
        );
        return code === 0 ? null : `A command in a sandbox of bubblewrap did not work as it must (exit code ${code}).`;
      } finally {
        await this.#discard(tree);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return `A sandbox of bubblewrap cannot be started here: ${reason.slice(0, 300)}. ${NAMESPACES}.`;
    }
  }

  async open({ sessionId, projectId, base, mounts }: SandboxAt, signal: AbortSignal): Promise<Sandbox> {
    if (this.#parts === null) {
      const problem = await this.check();
      if (problem !== null) throw new SandboxFailedError(problem);
    }
    const parts = this.#parts!;
    await this.#places.take(projectId, signal);
    try {
      const digest = treeDigest(base.entries);
      const placed = await Promise.all(mounts.map((mount) => parts.mounts.place(mount)));
      const tree = parts.cache.take(sessionId, digest) ?? (await this.#restored(parts.folder, base, signal));
      return this.#sandbox(sessionId, projectId, tree, placed);
    } catch (error) {
      this.#places.free(projectId);
      throw error;
    }
  }

  async dispose(sessionId: string): Promise<void> {
    await this.#parts?.cache.dispose(sessionId);
  }

  async #prepare(): Promise<Parts | null> {
    const found = await findBubblewrap();
    if (found === null) return null;
    const folder = makeSandboxFolder(this.settings.sandboxDir, this.settings.dataDir, found);
    const { stdout } = await promisify(execFile)(folder.bwrap, ['--help']);
    const cache = new TreeCache(folder.trees, this.log, (tree) => this.#freeUser(tree.owner));
    return {
      folder,
      cache,
      mounts: new MountStore(folder.mounts),
      disablesUserns: stdout.includes('--disable-userns'),
    };
  }

  async #restored(folder: SandboxFolder, base: SandboxAt['base'], signal: AbortSignal): Promise<Tree> {
    const tree = this.#newTree(folder);
    try {
      await tree.restore(this.storage, base, signal);
      return tree;
    } catch (error) {
      await this.#discard(tree);
      throw error;
    }
  }

  #newTree(folder: SandboxFolder): Tree {
    const tree = new Tree(join(folder.trees, ulid().toLowerCase()), this.#takeUser(folder.firstUser));
    tree.create();
    return tree;
  }

  #takeUser(first: number | null): Owner | null {
    if (first === null) return null;
    for (let uid = first; uid < first + USERS_PER_PROCESS; uid += 1) {
      if (users.has(uid)) continue;
      users.add(uid);
      return { uid, gid: uid };
    }
    throw new SandboxFailedError('all users of sandboxes are taken');
  }

  #freeUser(owner: Owner | null): void {
    if (owner !== null) users.delete(owner.uid);
  }

  async #discard(tree: Tree): Promise<void> {
    await this.#parts!.cache.discard(tree);
  }

  #run(tree: Tree, mounts: RunOptions['mounts'], argv: string[], io: CommandIo): Promise<CommandEnd> {
    const { folder, disablesUserns } = this.#parts!;
    const { sandboxMemoryMb, sandboxDiskMb, sandboxRoot } = this.settings;
    const { bwrap, filter, passwd } = folder;
    return runCommand(
      {
        ...{ bwrap, filter, passwd, disablesUserns, mounts, owner: tree.owner, root: sandboxRoot ?? '/' },
        maxMemory: sandboxMemoryMb * MIB,
        tree: {
          folder: tree.folder,
          maxBytes: sandboxDiskMb * MIB,
          maxEntries: MAX_ENTRIES,
          measure: () => tree.measure(),
        },
      },
      argv,
      io,
    );
  }

  #sandbox(sessionId: string, projectId: string, tree: Tree, mounts: RunOptions['mounts']): Sandbox {
    const store = async <T>(work: (scanned: ScannedTree) => Promise<T>): Promise<T> => {
      const { entries, notKept, isOver } = await tree.scan(this.settings.sandboxDiskMb * MIB);
      const files = new Map(entries.filter(isFile).map((file): [string, FileEntry] => [file.path, file]));
      const stored = await work({ entries, notKept, isOver, contentOf: (path) => tree.contentOf(files.get(path)!) });
      if (isOver) await this.#discard(tree);
      else {
        tree.seal(entries);
        const { sizeBytes } = sizeOf(entries);
        await this.#parts!.cache.put(sessionId, { tree, digest: treeDigest(entries), bytes: sizeBytes });
      }
      return stored;
    };
    return {
      run: (argv, io) => this.#run(tree, mounts, argv, io),
      close: async (work) => {
        try {
          if (work !== null) return await store(work);
          await this.#discard(tree);
          return null;
        } catch (error) {
          await this.#discard(tree);
          throw error;
        } finally {
          this.#places.free(projectId);
        }
      },
    };
  }
}
