import { readdir, readFile, statfs } from 'node:fs/promises';
import type { Stopped } from '../../../src/workspaces/sandbox.js';
import { MIB } from '../../../src/platform/units.js';

const PAGE = 4096;
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
 * The memory of all processes below `pid`. What several share counts for each, at first: only where that is too much are
 * the pages without those of files counted.
 */
async function memoryOf(pid: number, limit: number): Promise<number> {
  const pids = await processesOf(pid);
  const resident = await sum(pids, async (id) => {
    const [, pages] = (await readFile(`/proc/${id}/statm`, 'latin1')).split(' ');
    return Number(pages) * PAGE;
  });
  if (resident <= limit) return resident;
  return sum(pids, async (id) => {
    const status = await readFile(`/proc/${id}/status`, 'latin1');
    const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
    return (kib('RssAnon') + kib('RssShmem')) * 1024;
  });
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
