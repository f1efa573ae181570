import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { ulid } from 'ulid';
import { PASSWD } from './command-line.js';
import { isKnownMachine, seccompFilter } from './seccomp.js';

/**
 * Users of sandboxes are numbered from here on. These numbers are free: ranges for containers (/etc/subuid, systemd) and for accounts
 * of a directory (sssd) end before.
 */
const FIRST_USER = 0x78000000;
/** Numbers of one process, so that no two workers of a machine give the same user to two trees. */
export const USERS_PER_PROCESS = 1024;
/** The numbers of the last process end at 2³¹: some programs take a user as a signed number. */
const MAX_PROCESSES = 0x8000000 / USERS_PER_PROCESS;

/** The folder of this process below `SANDBOX_DIR`: trees, mounts, and what each sandbox needs. */
export interface SandboxFolder {
  trees: string;
  mounts: string;
  bwrap: string;
  filter: string;
  passwd: string;
  /** Null unless the worker is root. */
  firstUser: number | null;
}

/**
 * Makes the folder. Nothing of an earlier process is used again, so folders of processes that are gone are removed.
 * @param wanted `SANDBOX_DIR`; null: below `dataDir` if the users of sandboxes can reach it, else below the temporary folder
 */
export function makeSandboxFolder(wanted: string | null, dataDir: string, bwrap: string): SandboxFolder {
  if (!isKnownMachine(process.arch)) throw new Error(`there is no filter of system calls for ${process.arch}`);
  const base = wanted ?? defaultFolder(resolve(dataDir));
  mkdirSync(base, { recursive: true });
  chmodSync(base, 0o711);
  for (const name of readdirSync(base)) {
    const [, pid] = /^(\d+)-[0-9a-z]{26}$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) remove(join(base, name));
  }
  const folder = join(base, `${process.pid}-${ulid().toLowerCase()}`);
  for (const path of [folder, join(folder, 'trees'), join(folder, 'mounts')]) makeOpen(path);
  const isRoot = process.getuid?.() === 0;
  const made = {
    trees: join(folder, 'trees'),
    mounts: join(folder, 'mounts'),
    bwrap: join(folder, 'bwrap'),
    filter: join(folder, 'filter'),
    passwd: join(folder, 'passwd'),
    firstUser: isRoot ? FIRST_USER + (process.pid % MAX_PROCESSES) * USERS_PER_PROCESS : null,
  };
  // The user of a sandbox may not reach where it is: a home is closed.
  copyFileSync(bwrap, made.bwrap);
  chmodSync(made.bwrap, 0o755);
  writeFileSync(made.filter, seccompFilter(process.arch));
  writeFileSync(made.passwd, PASSWD);
  return made;
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** `rm` also removes folders that are nested deeper than a path can say. */
function remove(folder: string): void {
  if (!existsSync(folder)) return;
  if (process.getuid?.() !== 0) execFileSync('chmod', ['-R', 'u+rwx', '--', folder], { stdio: 'ignore' });
  execFileSync('rm', ['-rf', '--', folder], { stdio: 'ignore' });
}
