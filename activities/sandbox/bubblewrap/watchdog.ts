import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, stat, statfs } from 'node:fs/promises';
import type { Stopped } from '../../../src/workspaces/sandbox.js';
import { MIB } from '../../../src/platform/units.js';

const PAGE = 4096;
/** Among more open files than these the pipes are not looked for: that takes time for each file. */
const MAX_NAMED = 8192;
/** Of a pipe of a user whose pipes have all the pages that they may. */
const MIN_PIPE_PAGES = 2;
const PARTS = ['RssAnon', 'RssShmem', 'VmSwap', 'VmPTE'];
/** gVisor tells one number for a process, with the files that it has mapped, and no parts of shared pages. */
const TELLS_PARTS = existsSync('/proc/self/smaps_rollup');
/** Among more processes than these the parts of shared pages are not measured: that takes time for each page. */
const MAX_SHARING = 32;
const MEMORY_INTERVAL_MS = 100;
/** Each fifth look is at the disk, too. */
const DISK_EVERY = 5;
/** While the disk has lost less, the tree is not measured. */
const DISK_STEP = 8 * MIB;

interface Watched {
  /** The first process of the sandbox, as the machine numbers it. */
  pid: number;
  maxMemory: number;
  tree: {
    folder: string;
    maxBytes: number;
    maxEntries: number;
    measure(): Promise<{ bytes: number; entries: number }>;
  };
}

/**
 * Watches the memory and the disk of one sandbox, which no limit of the kernel covers for an ordinary user: calls `stop` once when
 * a limit is passed. Returns what ends the watch.
 */
export function watch({ pid, maxMemory, tree }: Watched, stop: (why: Stopped) => void): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout;
  let looks = 0;
  let free: number | null = null;
  const look = async (): Promise<void> => {
    if ((await memoryOf(pid, maxMemory)) > maxMemory) return end('memory');
    looks += 1;
    if (looks % DISK_EVERY !== 0) return;
    const { bavail, bsize, ffree } = await statfs(tree.folder);
    // Ten thousand empty files take no blocks, but inodes.
    const now = bavail * bsize + ffree * PAGE;
    if (free !== null && free - now < DISK_STEP) return;
    free = now;
    const { bytes, entries } = await tree.measure();
    if (bytes > tree.maxBytes || entries > tree.maxEntries) end('disk');
  };
  const end = (why: Stopped): void => {
    if (!isOver) stop(why);
    isOver = true;
  };
  const next = (): void => {
    timer = setTimeout(() => {
      void look()
        .catch(() => undefined)
        .finally(() => {
          if (!isOver) next();
        });
    }, MEMORY_INTERVAL_MS);
  };
  next();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * The memory of all processes below `pid`, with their page tables and the buffers of their sockets and pipes. Pages that several
 * processes share count for each at first; only where that is too much, each has its part. So do pipes: each open file is counted as
 * the end of a pipe at first.
 */
async function memoryOf(pid: number, limit: number): Promise<number> {
  const pids = await processesOf(pid);
  const sockets = await socketBytes(pid);
  const counted = await sum(pids, (id) => kibOf(`/proc/${id}/status`, TELLS_PARTS ? PARTS : ['VmRSS']));
  const files = await sum(pids, openFilesOf);
  const atMost = await pipeBytes(files);
  if (counted + sockets + atMost <= limit) return counted + sockets + atMost;
  const pipes = files > MAX_NAMED ? atMost : await pipeBytes((await pipesOf(pids)).size);
  if (counted + sockets + pipes <= limit || pids.length > MAX_SHARING || !TELLS_PARTS) return counted + sockets + pipes;
  const shares = sum(pids, async (id) => {
    const pages = await kibOf(`/proc/${id}/smaps_rollup`, ['Pss_Anon', 'Pss_Shmem', 'SwapPss']);
    return pages + (await kibOf(`/proc/${id}/status`, ['VmPTE']));
  });
  return (await shares) + sockets + pipes;
}

/** How many files a process has open. Linux before 6.2 does not tell it at once. */
async function openFilesOf(pid: number): Promise<number> {
  const { size } = await stat(`/proc/${pid}/fd`);
  return size > 0 ? size : (await readdir(`/proc/${pid}/fd`)).length;
}

/** The pipes that processes have open, by the names that the kernel gives them. */
async function pipesOf(pids: number[]): Promise<Set<string>> {
  const pipes = new Set<string>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const name = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      if (name.startsWith('pipe:')) pipes.add(name);
    }
  }
  return pipes;
}

/**
 * What so many pipes may hold; the kernel does not tell what they hold. Those of a user may grow until all have so many pages; then
 * each further one has two.
 */
async function pipeBytes(count: number): Promise<number> {
  const [most, soft] = await Promise.all(
    // gVisor has no soft limit.
    ['pipe-max-size', 'pipe-user-pages-soft'].map((name) =>
      readFile(`/proc/sys/fs/${name}`, 'latin1').then(Number, () => 0),
    ),
  );
  const grown = count * most!;
  return soft === 0 ? grown : Math.min(grown, soft! * PAGE) + count * MIN_PIPE_PAGES * PAGE;
}

/** The bytes that these lines of a file in /proc have together. */
async function kibOf(path: string, names: string[]): Promise<number> {
  const text = await readFile(path, 'latin1');
  const kib = names.map((name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0));
  return kib.reduce((total, one) => total + one, 0) * 1024;
}

/**
 * What the sockets of a sandbox may hold, by their number: the kernel does not tell what they hold, and the filter of system calls
 * keeps their buffers at the default. TCP has a limit of its own for the machine.
 */
async function socketBytes(pid: number): Promise<number> {
  const defaults = ['wmem_default', 'rmem_default'].map((name) => readFile(`/proc/sys/net/core/${name}`, 'latin1'));
  const largest = Math.max(...(await Promise.all(defaults)).map(Number));
  const protocols = await readFile(`/proc/${pid}/net/protocols`, 'latin1').catch(() => '');
  const counts = [...protocols.matchAll(/^(\S+)\s+\d+\s+(\d+)\s/gm)];
  return counts.reduce(
    (total, [, name, count]) => total + Number(count) * (name!.startsWith('TCP') ? MIB : largest),
    0,
  );
}

async function sum(pids: number[], of: (pid: number) => Promise<number>): Promise<number> {
  let total = 0;
  // A process may have ended.
  for (const pid of pids) total += await of(pid).catch(() => 0);
  return total;
}

/** The processes of a sandbox: only its own are looked at, whatever else runs on the machine. */
export async function processesOf(pid: number): Promise<number[]> {
  const found = [pid];
  for (let at = 0; at < found.length; at += 1) {
    // A process is the child of the thread that made it.
    const threads = await readdir(`/proc/${found[at]}/task`).catch(() => []);
    for (const thread of threads) {
      const children = await readFile(`/proc/${found[at]}/task/${thread}/children`, 'latin1').catch(() => '');
      for (const child of children.split(' ')) if (child !== '') found.push(Number(child));
    }
  }
  return found;
}
