import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
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
/** While the shared memory of the machine has grown by less since the command began, its processes' mappings are not read. */
const SHARED_STEP = 16 * MIB;
/** Memory that several processes share without a file, as the kernel lists it among the mappings of a process. */
const SHARED_MAPPING =
  /^([0-9a-f]+)-([0-9a-f]+) ...s [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+) +\/dev\/zero \(deleted\)$/gm;

/**
 * Looks at the memory of one sandbox, for a machine where no group of the kernel limits it. What its processes have comes from
 * them; shared memory that none of them has touched last comes from their mappings.
 */
export class MemoryUse {
  /** The shared memory of the machine when the command began. */
  readonly #sharedBefore = sharedOfMachine().catch(() => null);

  constructor(
    /** The first process of the sandbox, as the machine numbers it. */
    private readonly pid: number,
    private readonly limit: number,
  ) {}

  /**
   * The memory of all processes, with their page tables and the buffers of their sockets and pipes. Pages that several processes
   * share count for each at first; only where that is too much, each has its part. So do pipes: each open file is counted as the
   * end of a pipe at first.
   */
  async bytes(): Promise<number> {
    const { pid, limit } = this;
    const pids = await processesOf(pid);
    const others = (await socketBytes(pid, ALL_SOCKETS)) + (await this.#shared(pids));
    const counted = await sum(pids, (id) => kibOf(`/proc/${id}/status`, TELLS_PARTS ? PARTS : ['VmRSS']));
    const files = await sum(pids, openFilesOf);
    const atMost = await pipeBytes(files);
    if (counted + others + atMost <= limit) return counted + others + atMost;
    const pipes = files > MAX_NAMED ? atMost : await pipeBytes((await pipesOf(pids)).size);
    if (counted + others + pipes <= limit || pids.length > MAX_SHARING || !TELLS_PARTS) return counted + others + pipes;
    const shares = sum(pids, async (id) => {
      const pages = await kibOf(`/proc/${id}/smaps_rollup`, ['Pss_Anon', 'Pss_Shmem', 'SwapPss']);
      return pages + (await kibOf(`/proc/${id}/status`, ['VmPTE']));
    });
    return (await shares) + others + pipes;
  }

  /**
   * What shared memory may hold beyond what processes say: its pages belong to no process that has not touched them. The kernel
   * tells only the size of each mapping, and how much shared memory the whole machine has.
   */
  async #shared(pids: number[]): Promise<number> {
    const before = await this.#sharedBefore;
    if (before === null) return 0;
    const grown = (await sharedOfMachine()) - before;
    if (grown < SHARED_STEP) return 0;
    const sizes = new Map<string, number>();
    for (const pid of pids) {
      const maps = await readFile(`/proc/${pid}/maps`, 'latin1').catch((error: NodeJS.ErrnoException) =>
        // It hides its mappings, or has ended.
        error.code === 'EACCES' || error.code === 'EPERM' ? null : '',
      );
      if (maps === null) return grown;
      for (const [, from, to, device, inode] of maps.matchAll(SHARED_MAPPING)) {
        const name = `${device} ${inode}`;
        const size = Number.parseInt(to!, 16) - Number.parseInt(from!, 16);
        sizes.set(name, Math.max(sizes.get(name) ?? 0, size));
      }
    }
    const mapped = [...sizes.values()].reduce((total, size) => total + size, 0);
    return Math.max(0, Math.min(mapped, grown) - (await sum(pids, (id) => kibOf(`/proc/${id}/status`, ['RssShmem']))));
  }
}

/** What a lock of a part of a file takes, and a file that is watched by epoll. */
const ENTRY_BYTES = 256;

/**
 * What the file locks and the watches of epoll of a sandbox take: memory of the kernel for which processes have no limit. No group
 * counts the locks. The kernel lists them with the open files of each process.
 */
export async function kernelBytes(pid: number): Promise<number> {
  let [entries, looked] = [0, 0];
  for (const id of await processesOf(pid)) {
    // A process that has a file open twice has its locks once.
    const files = new Map<string, number>();
    for (const fd of await readdir(`/proc/${id}/fdinfo`).catch(() => [])) {
      if ((looked += 1) > MAX_NAMED) return entries * ENTRY_BYTES;
      const text = await readFile(`/proc/${id}/fdinfo/${fd}`, 'latin1').catch(() => '');
      const locks = text.split('\nlock:').length - 1;
      entries += text.split('\ntfd:').length - 1;
      const [, inode = fd] = /^ino:\t(\d+)$/m.exec(text) ?? [];
      if (locks > 0) files.set(inode, Math.max(files.get(inode) ?? 0, locks));
    }
    for (const locks of files.values()) entries += locks;
  }
  return entries * ENTRY_BYTES;
}

async function sharedOfMachine(): Promise<number> {
  return kibOf('/proc/meminfo', ['Shmem']);
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

/** Protocols whose buffers count: all, or those that a group of the kernel does not count. */
export const ALL_SOCKETS = /./;
export const UNCOUNTED_SOCKETS = /^(?!UNIX|TCP)/;

/**
 * What the sockets of a sandbox may hold, by their number: the kernel does not tell what they hold, and the filter of system calls
 * keeps their buffers at the default. TCP has a limit of its own for the machine.
 */
export async function socketBytes(pid: number, protocols: RegExp): Promise<number> {
  const defaults = ['wmem_default', 'rmem_default'].map((name) => readFile(`/proc/sys/net/core/${name}`, 'latin1'));
  const largest = Math.max(...(await Promise.all(defaults)).map(Number));
  const list = await readFile(`/proc/${pid}/net/protocols`, 'latin1').catch(() => '');
  const counts = [...list.matchAll(/^(\S+)\s+\d+\s+(\d+)\s/gm)].filter(([, name]) => protocols.test(name!));
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
