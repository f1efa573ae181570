import { createHash } from 'node:crypto';
import {
  chmodSync,
  // oxlint-disable-next-line no-restricted-imports -- it copies bwrap alone, whose size no command chooses
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { uniqueName } from '../../../src/platform/ids.js';
import { ignored } from '../../../src/platform/ignored.js';
import { beginRemoval, removeTree } from '../remove-tree.js';
import { GROUP, HOSTS, PASSWD } from './command-line.js';
import { mountsBelow, unmountAll } from './images.js';
import { isKnownMachine, seccompFilter, type Fences, type Machine } from './seccomp.js';

/**
 * Users of sandboxes are numbered from here on. These numbers are free: ranges for containers (/etc/subuid, systemd) and for accounts
 * of a directory (sssd) end before.
 */
const FIRST_USER = 0x78000000;
/** Numbers of one process, so that no two workers of a machine give the same user to two trees. */
export const USERS_PER_PROCESS = 2048;
/** The numbers of the last process end at 2³¹: some programs take a user as a signed number. */
const MAX_PROCESSES = 0x8000000 / USERS_PER_PROCESS;
/** A process touches its folder at each check, once a minute. Process ids do not tell: containers may share a folder. */
const STALE_MS = 10 * 60_000;

/** The folder of this process below `SANDBOX_DIR`: trees, mounts, and what each sandbox needs. */
export class SandboxFolder {
  readonly trees: string;
  readonly mounts: string;
  readonly bwrap: string;
  /** The file systems of trees, where they have some. */
  readonly images: string;
  readonly filter: string;
  readonly passwd: string;
  readonly group: string;
  readonly hosts: string;
  /** Null unless the worker is root. */
  readonly firstUser = process.getuid?.() === 0 ? FIRST_USER + (process.pid % MAX_PROCESSES) * USERS_PER_PROCESS : null;
  readonly #path: string;

  /** @param base where the folders of processes are; nothing of an earlier process is used again */
  constructor(
    private readonly base: string,
    bwrap: string,
  ) {
    machine();
    makeOpen(base);
    this.#path = join(base, `worker-${uniqueName()}`);
    const place = (name: string): string => join(this.#path, name);
    this.trees = place('trees');
    this.mounts = place('mounts');
    this.images = place('images');
    this.filter = place('filter');
    this.passwd = place('passwd');
    this.group = place('group');
    this.hosts = place('hosts');
    for (const path of [this.#path, this.trees, this.mounts]) makeOpen(path);
    this.bwrap = this.#reachable(bwrap);
    writeFileSync(this.passwd, PASSWD);
    writeFileSync(this.group, GROUP);
    writeFileSync(this.hosts, HOSTS);
  }

  /** Writes the filter of system calls. */
  fence(fences: Fences): void {
    writeFileSync(this.filter, seccompFilter(machine(), fences));
  }

  /**
   * The program itself where the users of sandboxes can reach it, because an AppArmor profile belongs to a path; a copy where they
   * cannot, below a closed home.
   */
  #reachable(bwrap: string): string {
    if (process.getuid?.() !== 0 || isOpenToAll(dirname(bwrap))) return bwrap;
    const copy = join(this.#path, 'bwrap');
    copyFileSync(bwrap, copy);
    chmodSync(copy, 0o755);
    return copy;
  }

  /** Someone may have cleaned up below `SANDBOX_DIR`. */
  get isThere(): boolean {
    return [this.trees, this.mounts, this.bwrap, this.filter, this.passwd, this.group, this.hosts].every((path) =>
      existsSync(path),
    );
  }

  /** Shows that this process lives, and removes the folders of those that do not. */
  async maintain(): Promise<void> {
    const now = Date.now();
    utimesSync(this.#path, now / 1000, now / 1000);
    for (const name of await readdir(this.base)) {
      const path = join(this.base, name);
      if (!/^worker-[0-9a-z]{26}$/.test(name) || path === this.#path) continue;
      const stats = await stat(path).catch(ignored('another process has removed it'));
      if (stats === undefined || stats.mtimeMs >= now - STALE_MS) continue;
      await unmountAll(mountsBelow(path));
      await removeTree(path);
    }
  }

  beginRemoval(): void {
    beginRemoval(this.#path, mountsBelow(this.#path));
  }
}

/** @throws Error for a processor for which there is no filter */
function machine(): Machine {
  const { arch } = process;
  if (!isKnownMachine(arch)) throw new Error(`there is no filter of system calls for ${arch}`);
  return arch;
}

/** `SANDBOX_DIR`; not set: below `dataDir` if the users of sandboxes can reach it, else below the temporary folder. */
export function sandboxDir(wanted: string | null, dataDir: string): string {
  return wanted ?? defaultFolder(resolve(dataDir));
}

function defaultFolder(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true });
  if (process.getuid?.() !== 0 || isOpenToAll(dataDir)) return join(dataDir, 'sandbox');
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return join(tmpdir(), `agent-session-service-sandbox-${name}`);
}

/** Whether every user can enter every folder on the way to `path`. */
function isOpenToAll(path: string): boolean {
  for (let current = realpathSync(path); ; current = dirname(current)) {
    if ((statSync(current).mode & 0o001) === 0) return false;
    if (current === dirname(current)) return true;
  }
}

function makeOpen(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o711);
}
