import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findBubblewrap } from '../../activities/sandbox/bubblewrap/find.js';
import { MIB } from '../../src/platform/units.js';
import { eventually } from './eventually.js';
import type { CommandEnd, SandboxLimits } from '../../src/workspaces/sandbox.js';

/** The limits of commands that attack: low, so that an attack that passes them does no harm. */
export const LOW = { diskMb: 32, memoryMb: 128 };
const RUNNER = fileURLToPath(new URL('limited-runner.ts', import.meta.url));
const SAMPLE_MS = 20;
/** nobody's */
const ORDINARY = 65_534;

export interface Way {
  title: string;
  /** What the worker may use where the machine allows it. */
  mayUse: { cgroups: boolean; images: boolean };
  isOrdinaryUser: boolean;
}

export const WAYS: Way[] = [
  { title: 'kept by the kernel', mayUse: { cgroups: true, images: true }, isOrdinaryUser: false },
  { title: 'watched by a worker that is root', mayUse: { cgroups: false, images: false }, isOrdinaryUser: false },
  {
    title: 'watched by a worker that is an ordinary user',
    mayUse: { cgroups: true, images: true },
    isOrdinaryUser: true,
  },
];

export interface Attacked extends CommandEnd {
  output: string;
  /** MiB that the disk of sandboxes had less at most, and afterwards. */
  disk: number;
  /** MiB that the process with all sandboxes held more, as the kernel counts it, and that the whole machine had less. */
  memory: number;
  machine: number;
  diskAfter: number;
}

/**
 * A worker's sandboxes in a process and on a disk of their own: nothing else takes room there. Needs root, for the disk and for the
 * user of the process.
 */
export async function openLimited({ mayUse, isOrdinaryUser }: Way) {
  const root = mkdtempSync(join(tmpdir(), 'limits-'));
  chmodSync(root, 0o755);
  const [image, disk] = [join(root, 'image'), join(root, 'disk')];
  mkdirSync(disk);
  execFileSync('mkfs.ext4', ['-q', '-F', '-O', '^has_journal', image, '2g']);
  execFileSync('mount', ['-o', 'loop,discard', image, disk]);
  const sandboxDir = join(disk, 'sandboxes');
  mkdirSync(sandboxDir);
  if (isOrdinaryUser) chownSync(sandboxDir, ORDINARY, ORDINARY);
  const bin = join(root, 'bin');
  mkdirSync(bin);
  copyFileSync((await findBubblewrap())!, join(bin, 'bwrap'));
  const group = measuringGroup();
  const user = isOrdinaryUser ? ['setpriv', `--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, '--clear-groups'] : [];
  const settings = JSON.stringify({ sandboxDir, ...LOW, mayUse });
  const [file, ...args] = [...user, process.execPath, '--import', 'tsx', RUNNER, settings];
  const runner = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HOME: root, PATH: `${bin}:${process.env.PATH}` },
  });
  group?.add(runner.pid!);
  const lines = createInterface({ input: runner.stdout })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => JSON.parse((await lines.next()).value as string) as T;
  const exited = once(runner, 'exit');
  const close = async (): Promise<void> => {
    runner.stdin.end();
    await exited;
    // What the process began to remove may still use the disk.
    spawnSync('umount', ['-l', disk]);
    await group?.remove();
    rmSync(root, { recursive: true, force: true });
  };
  const limits = await next<SandboxLimits>().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const free = (): number => {
    const { bfree, bsize } = statfsSync(disk);
    return (bfree * bsize) / MIB;
  };
  return {
    limits,
    /** Runs a command in a new workspace, whose changes are kept as a worker keeps them. */
    async attack(command: string): Promise<Attacked> {
      const before = { disk: free(), held: group?.held() ?? 0, available: available() };
      const least = { disk: before.disk, held: before.held, available: before.available };
      const sample = setInterval(() => {
        least.disk = Math.min(least.disk, free());
        least.held = Math.max(least.held, group?.held() ?? 0);
        least.available = Math.min(least.available, available());
      }, SAMPLE_MS);
      runner.stdin.write(`${JSON.stringify(command)}\n`);
      const end = await next<CommandEnd & { output: string }>();
      clearInterval(sample);
      const machine = before.available - least.available;
      const memory = group === null ? machine : least.held - before.held;
      const lost = { disk: before.disk - least.disk, memory, machine };
      return { ...end, ...lost, diskAfter: before.disk - free() };
    },
    close,
  };
}

/** A group for the process and all its sandboxes, to measure them beside others on the machine; null where there is no version 1. */
function measuringGroup() {
  const folder = `/sys/fs/cgroup/memory/limits-test-${process.pid}-${Date.now()}`;
  if (!existsSync(dirname(folder))) return null;
  mkdirSync(folder);
  const read = (file: string): string => readFileSync(join(folder, file), 'latin1');
  return {
    add: (pid: number): void => writeFileSync(join(folder, 'cgroup.procs'), String(pid)),
    /** MiB, without the pages of files, which the kernel takes back, and with the locks of files of the machine, which it does not count. */
    held: (): number => {
      const files = [...read('memory.stat').matchAll(/^total_(?:in)?active_file (\d+)$/gm)];
      const pages = files.reduce((total, [, bytes]) => total + Number(bytes), 0);
      const [, locks, size] = /^file_lock_cache +(\d+) +\d+ +(\d+)/m.exec(readFileSync('/proc/slabinfo', 'latin1'))!;
      return (Number(read('memory.usage_in_bytes')) - pages + Number(locks) * Number(size)) / MIB;
    },
    remove: (): Promise<void> =>
      eventually('nothing runs in the group', () => spawnSync('rmdir', [folder]).status === 0),
  };
}

function available(): number {
  return Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'latin1'))![1]) / 1024;
}
