import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { uniqueName } from '../../../src/platform/ids.js';
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
  type SandboxLimits,
  type SandboxProblem,
  type SandboxProvider,
  type ScannedTree,
} from '../../../src/workspaces/sandbox.js';
import { removeTree } from '../remove-tree.js';
import { Tree, type Owner } from '../tree.js';
import { TreeCache } from '../tree-cache.js';
import { CommandGroups } from './cgroups.js';
import { cloneOf, MAX_PROCESSES } from './command-line.js';
import { findBubblewrap } from './find.js';
import { TreeImages } from './images.js';
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
  /** Null: the machine does not let this process make any. */
  groups: CommandGroups | null;
  images: TreeImages | null;
  disablesUserns: boolean;
  unsharesNet: boolean;
  clone: number | null;
  linkedEtc: string[];
}

const CHECK_TIMEOUT_MS = 10_000;
/** Without a group of the kernel, the largest piece of shared memory is this part of the memory of a command. */
const SHARED_PART = 0.25;

/** Commands in sandboxes of bubblewrap, on this machine's kernel. */
export class BubblewrapProvider<At extends SandboxAt = SandboxAt> implements SandboxProvider {
  #parts: Parts | null = null;
  #preparing: Promise<Parts | null> | null = null;

  constructor(
    private readonly settings: SandboxSettings,
    /** Opens the contents of the version with which a sandbox begins. */
    private readonly readerOf: (at: At) => ContentReader,
    private readonly log: Logger,
    /** Which limits the kernel may keep, where the machine allows it; what is missing is watched. */
    private readonly mayUse: Record<'cgroups' | 'images', boolean> = { cgroups: true, images: true },
  ) {}

  get limits(): SandboxLimits | null {
    if (this.#parts === null) return null;
    const { groups, images } = this.#parts;
    return {
      memory: groups?.keeps('memory') ? 'cgroup' : 'watched',
      processes: groups?.keeps('pids') ? 'cgroup' : 'user',
      cpu: groups?.keeps('cpu') ? 'cgroup' : 'nice',
      disk: images === null ? 'watched' : 'file system',
    };
  }

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
      const tree = await this.#newTree(parts);
      try {
        const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
        const io = { cwd: '/', stdin: null, timeoutMs: CHECK_TIMEOUT_MS, onOutput: () => undefined, signal };
        const { code } = await this.#run(
          parts,
          { tree, startBytes: 0, mounts: [] },
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
      const { sizeBytes: startBytes } = await sizeOfTree(base.entries);
      return this.#sandbox(parts, { sessionId, tree, startBytes, mounts: placed, release });
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
    void this.#parts?.groups?.close();
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
    const groups = this.mayUse.cgroups ? await this.#findGroups() : null;
    const images = this.mayUse.images ? await this.#findImages(folder) : null;
    const memoryBytes = this.settings.sandboxMemoryMb * MIB;
    folder.fence({
      refusesFallocate: images === null,
      maxSharedBytes: groups?.keeps('memory') ? null : Math.floor(memoryBytes * SHARED_PART),
    });
    const remove = (tree: Tree): Promise<void> =>
      images === null ? removeTree(tree.folder) : images.unmount(tree.folder);
    return {
      ...{ folder, groups, images },
      cache: new TreeCache(folder.trees, this.log, remove, (tree) => this.#freeUser(tree.owner)),
      mounts: new MountStore(folder.mounts, this.log),
      // gVisor has no such setting; the filter of system calls refuses new namespaces there.
      disablesUserns: stdout.includes('--disable-userns') && existsSync('/proc/sys/user/max_user_namespaces'),
      unsharesNet: await unsharesNet(found),
      clone: cloneOf(this.settings.sandboxRoot ?? '/'),
      linkedEtc: await findLinkedEtc(this.settings.sandboxRoot ?? '/'),
    };
  }

  async #findGroups(): Promise<CommandGroups | null> {
    const limits = { memoryBytes: this.settings.sandboxMemoryMb * MIB, processes: MAX_PROCESSES };
    return CommandGroups.find(limits).catch((error: Error) => {
      this.log.info({ reason: error.message }, 'commands get no cgroups: their memory is watched');
      return null;
    });
  }

  async #findImages(folder: SandboxFolder): Promise<TreeImages | null> {
    return TreeImages.prepare(folder.images, this.settings.sandboxDiskMb * MIB).catch((error: Error) => {
      this.log.info({ reason: withCause(error) }, 'trees get no file systems of their own: their size is watched');
      return null;
    });
  }

  async #maintain({ folder, cache, mounts, groups }: Parts): Promise<void> {
    try {
      await folder.maintain();
      await groups?.maintain();
      await Promise.all([cache.removeOld(), mounts.removeOld()]);
    } catch (err) {
      this.log.warn({ err }, 'what is no longer needed below SANDBOX_DIR could not be removed');
    }
  }

  async #restored(parts: Parts, at: At, signal: AbortSignal): Promise<Tree> {
    const tree = await this.#newTree(parts);
    try {
      await tree.restore(this.readerOf(at), at.base, signal);
      return tree;
    } catch (error) {
      await parts.cache.discard(tree);
      throw error;
    }
  }

  async #newTree({ folder, images }: Parts): Promise<Tree> {
    const tree = new Tree(join(folder.trees, uniqueName()), this.#takeUser(folder.firstUser));
    try {
      await images?.mount(tree.folder);
      tree.create();
      return tree;
    } catch (error) {
      this.#freeUser(tree.owner);
      throw new SandboxFailedError('a tree got no place on the disk', { cause: error });
    }
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

  async #run(parts: Parts, { tree, startBytes, mounts }: Used, argv: string[], io: CommandIo): Promise<CommandEnd> {
    const { folder, groups, images, disablesUserns, unsharesNet, clone, linkedEtc } = parts;
    const { sandboxMemoryMb, sandboxDiskMb, sandboxRoot } = this.settings;
    const { bwrap, filter, passwd, group, hosts } = folder;
    const cgroup = (await groups?.take()) ?? null;
    try {
      return await runCommand(
        {
          ...{ bwrap, filter, passwd, group, hosts, disablesUserns, unsharesNet, clone, linkedEtc, mounts, cgroup },
          owner: tree.owner,
          root: sandboxRoot ?? '/',
          maxMemory: sandboxMemoryMb * MIB,
          tree: {
            ...{ folder: tree.folder, maxBytes: sandboxDiskMb * MIB, maxEntries: MAX_ENTRIES, startBytes },
            used: images === null ? null : () => images.used(tree.folder),
            measure: () => tree.measure(),
          },
        },
        argv,
        io,
      );
    } finally {
      if (cgroup !== null) await groups!.giveBack(cgroup);
    }
  }

  #sandbox(parts: Parts, { sessionId, release, ...used }: Opened): Sandbox {
    const { cache, images } = parts;
    const { tree } = used;
    const store = async <T>(work: (scanned: ScannedTree) => Promise<T>): Promise<T> => {
      const { entries, notKept, isOver, taken } = await tree.scan(this.settings.sandboxDiskMb * MIB);
      const files = new Map(entries.filter(isFile).map((file): [string, FileEntry] => [file.path, file]));
      const stored = await work({ entries, notKept, isOver, contentOf: (path) => tree.contentOf(files.get(path)!) });
      if (isOver) await cache.discard(tree);
      else {
        await tree.seal(entries);
        const bytes = images === null ? taken : (await images.used(tree.folder)).bytes;
        await cache.put(sessionId, { tree, digest: await treeDigest(entries), bytes });
      }
      return stored;
    };
    return {
      run: (argv, io) => this.#run(parts, used, argv, io),
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

/** What a command works on. */
interface Used {
  tree: Tree;
  /** The bytes of the tree's files when the sandbox was opened. */
  startBytes: number;
  mounts: PlacedMount[];
}

interface Opened extends Used {
  sessionId: string;
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
