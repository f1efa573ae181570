import { dirname } from 'node:path';
import type { Stopped } from '../../../src/workspaces/sandbox.js';
import type { CommandGroup } from './cgroups.js';
import { diskUse, type WatchedTree } from './disk-use.js';
import { kernelBytes, MemoryUse, socketBytes, UNCOUNTED_SOCKETS } from './memory-use.js';
import { keepReserve } from './reserve.js';

const INTERVAL_MS = 100;

interface Watched {
  /** The first process of the sandbox, as the machine numbers it. */
  pid: number;
  maxMemory: number;
  /** The kernel keeps the limits of this group. Null: there is none. */
  group: CommandGroup | null;
  tree: WatchedTree;
}

export interface Watch {
  end(): void;
  /** After the command: why it counts as stopped although it has ended by itself. */
  lastLook(): Promise<Stopped | null>;
}

/**
 * Watches one sandbox: finds out that the kernel has kept a limit, and looks at what the kernel does not limit on this machine. Calls
 * `stop` once when a limit is passed.
 */
export function watch({ pid, maxMemory, group, tree }: Watched, stop: (why: Stopped) => void): Watch {
  let isOver = false;
  const limitsMemory = group?.limitsMemory === true;
  const memory = new MemoryUse(pid, maxMemory);
  const disk = diskUse(tree, pid);
  const isMemoryOver = async (): Promise<boolean> =>
    limitsMemory
      ? (await group.wasOutOfMemory()) || (await socketBytes(pid, UNCOUNTED_SOCKETS)) > maxMemory
      : (await memory.bytes()) > maxMemory;
  const stopFor = (why: Stopped): void => {
    if (!isOver) stop(why);
    end();
  };
  const endReserve = keepReserve({
    // The disk of the machine, also where the tree has a file system of its own.
    folder: dirname(tree.folder),
    memory: () => (limitsMemory ? group.memory() : memory.bytes()),
    maxMemory,
    kernel: () => kernelBytes(pid),
    disk: () => Promise.resolve(disk.grown()),
    stop: stopFor,
  });
  const end = (): void => {
    isOver = true;
    endReserve();
    disk.end();
  };
  // Each on its own: processes are many, and files are many.
  const repeat = (isPassed: () => Promise<boolean>, why: Stopped): void => {
    setTimeout(() => {
      if (isOver) return;
      void isPassed()
        // A process or a file was gone in the middle of a look.
        .catch(() => false)
        .then((passed) => {
          if (passed) stopFor(why);
          else repeat(isPassed, why);
        });
    }, INTERVAL_MS).unref();
  };
  repeat(isMemoryOver, 'memory');
  repeat(() => disk.isOver(), 'disk');
  return {
    end,
    lastLook: async () => {
      if (limitsMemory && (await group.wasOutOfMemory())) return 'memory';
      return tree.used !== null && (await disk.isOver()) ? 'disk' : null;
    },
  };
}
