import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ulid } from 'ulid';
import type { Logger } from '../../../src/platform/logger.js';
import { MIB } from '../../../src/platform/units.js';
import { withCause } from '../../../src/platform/with-cause.js';
import { MAX_ENTRIES } from '../../../src/workspaces/layout.js';
import { isFile, sizeOfTree, treeDigest, type FileEntry } from '../../../src/workspaces/manifest.js';
import type { ContentReader } from '../../../src/workspaces/packs.js';
import {
  SandboxFailedError,
  type CommandEnd,
  type CommandIo,
  type Sandbox,
  type SandboxAt,
  type SandboxProblem,
  type SandboxProvider,
  type ScannedTree,
} from '../../../src/workspaces/sandbox.js';
import { Tree, type Owner } from '../tree.js';
import { TreeCache } from '../tree-cache.js';
import { cloneOf } from './command-line.js';
import { findBubblewrap } from './find.js';
import { findLinkedEtc } from './linked-etc.js';
import { MountStore, type PlacedMount } from './mounts.js';
import { runCommand } from './run.js';
import { sandboxDir, SandboxFolder, USERS_PER_PROCESS } from './sandbox-folder.js';

interface SandboxSettings {
  /** SANDBOX_DIR and SANDBOX_ROOT; null: not set. */
  sandboxDir: string | null;
  sandboxRoot: string | null;
  dataDir: string;
  sandboxMemoryMb: number;
  sandboxDiskMb: number;
}

/** The users that trees of this process have. */
const users = new Set<number>();

/** What is made at the first check that finds bubblewrap. */
interface Parts {
  folder: SandboxFolder;
  cache: TreeCache;
  mounts: MountStore;
  disablesUserns: boolean;
  unsharesNet: boolean;
  clone: number | null;
  linkedEtc: string[];
}

const CHECK_TIMEOUT_MS = 10_000;
/** Bytes that an entry of a tree takes on the disk beside its content. */
const BYTES_PER_ENTRY = 4096;

/** Commands in sandboxes of bubblewrap, on this machine's kernel. */
export class BubblewrapProvider<At extends SandboxAt = SandboxAt> implements SandboxProvider {
  #parts: Parts | null = null;
  #preparing: Promise<Parts | null> | null = null;

  constructor(
    private readonly settings: SandboxSettings,
    /** Opens the contents of the version with which a sandbox begins. */
    private readonly readerOf: (at: At) => ContentReader,
    private readonly log: Logger,
  ) {}

  get cacheBytes(): number {
    return this.#parts === null ? 0 : this.#parts.cache.bytes + this.#parts.mounts.bytes;
  }

  async check(): Promise<SandboxProblem | null> {
    if (process.platform !== 'linux') {
      return { reason: `Sandboxes need Linux, and this is ${process.platform}.`, remedy: 'Set SANDBOX_PROVIDER=off.' };
    }
    try {
      const parts = await this.#ready();
      if (parts === null) return MISSING;
      void this.#maintain(parts);
      const tree = this.#newTree(parts.folder);
      try {
        const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
        const io = { cwd: '/', stdin: null, timeoutMs: CHECK_TIMEOUT_MS, onOutput: () => undefined, signal };
        const { code } = await this.#run(
          parts,
          tree,
          [],
          ['bash', '-c', '[ "$UID" = 1000 ] && [ ! -e /etc/shadow ]'],
          io,
        );
        return code === 0 ? null : problemOf(`a command ended with ${code}`);
      } finally {
        await parts.cache.discard(tree);
      }
    } catch (error) {
      return problemOf(causeOf(error));
    }
  }

  async open(at: At, signal: AbortSignal): Promise<Sandbox> {
    const { sessionId, base, mounts } = at;
    const parts = await this.#ready();
    if (parts === null) throw new SandboxFailedError(MISSING.reason);
    const { placed, release } = await parts.mounts.hold(sessionId, mounts, signal);
    try {
      const tree =
        parts.cache.take(sessionId, await treeDigest(base.entries)) ?? (await this.#restored(parts, at, signal));
      tree.begin();
      return this.#sandbox(parts, { sessionId, tree, mounts: placed, release });
    } catch (error) {
      release();
      throw error;
    }
  }

  async dispose(sessionId: string): Promise<void> {
    await this.#parts?.cache.dispose(sessionId);
  }

  close(): void {
    this.#parts?.folder.beginRemoval();
    this.#parts = null;
  }

  /** Null if there is no bwrap. */
  async #ready(): Promise<Parts | null> {
    if (this.#parts !== null && !this.#parts.folder.isThere) {
      this.log.warn('the folder of sandboxes is gone; a new one is made, and nothing is lost');
      this.#parts.cache.forget();
      this.close();
    }
    if (this.#parts !== null) return this.#parts;
    this.#preparing ??= this.#prepare().finally(() => (this.#preparing = null));
    return (this.#parts = await this.#preparing);
  }

  async #prepare(): Promise<Parts | null> {
    const found = await findBubblewrap();
    if (found === null) return null;
    const { stdout } = await promisify(execFile)(found, ['--help']);
    const folder = new SandboxFolder(sandboxDir(this.settings.sandboxDir, this.settings.dataDir), found);
    return {
      folder,
      cache: new TreeCache(folder.trees, this.log, (tree) => this.#freeUser(tree.owner)),
      mounts: new MountStore(folder.mounts, this.log),
      // gVisor has no such setting; the filter of system calls refuses new namespaces there.
      disablesUserns: stdout.includes('--disable-userns') && existsSync('/proc/sys/user/max_user_namespaces'),
      unsharesNet: await unsharesNet(found),
      clone: cloneOf(this.settings.sandboxRoot ?? '/'),
      linkedEtc: await findLinkedEtc(this.settings.sandboxRoot ?? '/'),
    };
  }

  async #maintain({ folder, cache, mounts }: Parts): Promise<void> {
    try {
      await folder.maintain();
      await Promise.all([cache.removeOld(), mounts.removeOld()]);
    } catch (err) {
      this.log.warn({ err }, 'what is no longer needed below SANDBOX_DIR could not be removed');
    }
  }

  async #restored({ folder, cache }: Parts, at: At, signal: AbortSignal): Promise<Tree> {
    const tree = this.#newTree(folder);
    try {
      await tree.restore(this.readerOf(at), at.base, signal);
      return tree;
    } catch (error) {
      await cache.discard(tree);
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

  #run(parts: Parts, tree: Tree, mounts: PlacedMount[], argv: string[], io: CommandIo): Promise<CommandEnd> {
    const { folder, disablesUserns, unsharesNet, clone, linkedEtc } = parts;
    const { sandboxMemoryMb, sandboxDiskMb, sandboxRoot } = this.settings;
    const { bwrap, filter, passwd, group } = folder;
    return runCommand(
      {
        ...{
          bwrap,
          filter,
          passwd,
          group,
          disablesUserns,
          unsharesNet,
          clone,
          linkedEtc,
          mounts,
          owner: tree.owner,
          root: sandboxRoot ?? '/',
        },
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

  #sandbox(parts: Parts, { sessionId, tree, mounts, release }: Opened): Sandbox {
    const { cache } = parts;
    const store = async <T>(work: (scanned: ScannedTree) => Promise<T>): Promise<T> => {
      const { entries, notKept, isOver } = await tree.scan(this.settings.sandboxDiskMb * MIB);
      const files = new Map(entries.filter(isFile).map((file): [string, FileEntry] => [file.path, file]));
      const stored = await work({ entries, notKept, isOver, contentOf: (path) => tree.contentOf(files.get(path)!) });
      if (isOver) await cache.discard(tree);
      else {
        await tree.seal(entries);
        const { sizeBytes } = await sizeOfTree(entries);
        const bytes = sizeBytes + entries.length * BYTES_PER_ENTRY;
        await cache.put(sessionId, { tree, digest: await treeDigest(entries), bytes });
      }
      return stored;
    };
    return {
      run: (argv, io) => this.#run(parts, tree, mounts, argv, io),
      close: async (work) => {
        try {
          if (work !== null) return await store(work);
          await cache.discard(tree);
          return null;
        } catch (error) {
          await cache.discard(tree);
          throw error;
        } finally {
          release();
        }
      },
    };
  }
}

/** Whether bwrap can make a network of its own. Other failures are those of every command, and the check reports them. */
async function unsharesNet(bwrap: string): Promise<boolean> {
  const args = ['--unshare-user', '--unshare-net', '--ro-bind', '/', '/', 'true'];
  return promisify(execFile)(bwrap, args).then(
    () => true,
    (error: Error) => !error.message.includes('loopback:'),
  );
}

interface Opened {
  sessionId: string;
  tree: Tree;
  mounts: PlacedMount[];
  release: () => void;
}

const MISSING: SandboxProblem = {
  reason: 'Sandboxes need bubblewrap, and there is no bwrap on PATH.',
  remedy: 'Install the package bubblewrap, or run: npm run setup',
};

function problemOf(cause: string): SandboxProblem {
  return {
    reason: `A sandbox of bubblewrap does not work here: ${cause}.`,
    remedy:
      'It needs user namespaces (docs/operations/sandbox.md says where they are refused), util-linux, and a SANDBOX_DIR that the users of sandboxes can reach.',
  };
}

function causeOf(error: unknown): string {
  return withCause(error).replaceAll(/\s+/g, ' ').slice(0, 300);
}
