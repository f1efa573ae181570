import { spawn } from 'node:child_process';
import { once } from 'node:events';
// oxlint-disable-next-line no-restricted-imports -- the worker ends, and its groups are few: no command makes one
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../../../src/platform/ids.js';
import { ignored } from '../../../src/platform/ignored.js';

/** Where the worker's own processes are in a delegated subtree: on version 2 a group with groups below it has no processes. */
const LEAF = 'service';
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
type Controller = (typeof CONTROLLERS)[number];
/** A unit of systemd, or what `systemd-run --scope` makes: an ordinary user who may write there was given it. */
const UNIT = /\.service$|\/run-[^/]*\.scope$/;
/** The share of processor time of all commands together, where the service has 100: a fifth, if both want all of it. */
const WEIGHT = 25;
/**
 * The same on version 1, where the service is in no group beside: each of its threads counts by itself, with 1,024. A service that wants
 * all of a machine has a thread for each core that works.
 */
const SHARES = 256 * availableParallelism();
/** Processes may be made while those of a group are moved. */
const MAX_ROUNDS = 10;
const ENDING_MS = 200;

export interface GroupLimits {
  memoryBytes: number;
  processes: number;
}

/** A tree of groups that the kernel has mounted, with the folder below which this process makes its own. */
interface Hierarchy {
  version: 1 | 2;
  controllers: Controller[];
  parent: string;
}

/** Where the kernel shows the groups of a process; tests name another folder than `/proc/self`. */
interface Source {
  self: string;
  pid: number;
}

/**
 * The groups of a worker's commands (cgroups), one for each command that runs. A group is used again by a later command: the pages of
 * files that a command wrote belong to its group, and a group that is removed before them stays in the kernel's memory.
 */
export class CommandGroups {
  readonly #idle: CommandGroup[] = [];
  readonly #name: string;

  private constructor(
    private readonly hierarchies: Hierarchy[],
    private readonly limits: GroupLimits,
    name: string,
  ) {
    this.#name = name;
  }

  /**
   * The groups that the machine lets this process make, after a trial.
   * @throws Error that says why there are none
   */
  static async find(
    limits: GroupLimits,
    source: Source = { self: '/proc/self', pid: process.pid },
  ): Promise<CommandGroups> {
    if (!existsSync('/proc/self/smaps_rollup')) throw new Error('gVisor keeps no limits of groups');
    const hierarchies = await findHierarchies(source);
    const groups = new CommandGroups(hierarchies, limits, `sandboxes-${source.pid}-${await startOf(source.pid)}`);
    await groups.#try();
    return groups;
  }

  async #try(): Promise<void> {
    const group = await this.take();
    const waiting = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
    try {
      await once(waiting, 'spawn');
      await group.join(waiting.pid!);
    } finally {
      waiting.stdin.end();
    }
    await once(waiting, 'exit');
    await this.giveBack(group);
  }

  keeps(controller: Controller): boolean {
    return this.hierarchies.some(({ controllers }) => controllers.includes(controller));
  }

  /** A group without processes. */
  async take(): Promise<CommandGroup> {
    for (let group = this.#idle.pop(); group !== undefined; group = this.#idle.pop()) {
      if (await group.isEmpty()) return group;
      await group.remove();
    }
    const name = `command-${uniqueName()}`;
    const places: Place[] = [];
    for (const hierarchy of this.hierarchies) {
      const folder = join(await this.#base(hierarchy), name);
      await mkdir(folder);
      const { version, controllers } = hierarchy;
      places.push({ folder, version, controllers });
    }
    const group = new CommandGroup(places);
    await group.limit(this.limits);
    return group;
  }

  /** For a group whose processes have ended. */
  async giveBack(group: CommandGroup): Promise<void> {
    if (await group.isEmpty()) this.#idle.push(group);
    else await group.remove();
  }

  /** Makes the group around those of commands. Another process may take it for one that was left, while nothing runs in it. */
  async #base({ version, controllers, parent }: Hierarchy): Promise<string> {
    const base = join(parent, this.#name);
    const isNew = await mkdir(base).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    if (!isNew) return base;
    if (version === 2) await writeFile(join(base, 'cgroup.subtree_control'), enabling(controllers));
    if (controllers.includes('cpu')) {
      const [file, value] = version === 2 ? ['cpu.weight', WEIGHT] : ['cpu.shares', SHARES];
      await writeFile(join(base, file), String(value));
    }
    return base;
  }

  /** Removes the groups of processes that are gone, in which nothing runs any more. */
  async maintain(): Promise<void> {
    for (const { parent } of this.hierarchies) {
      for (const name of await readdir(parent)) {
        const [, pid, start] = /^sandboxes-(\d+)-(\d+)$/.exec(name) ?? [];
        if (pid === undefined || name === this.#name) continue;
        if ((await startOf(Number(pid)).catch(() => null)) !== start) await removeGroups(join(parent, name));
      }
    }
  }

  /**
   * Removes all groups: at once, because the worker ends after it, and again while it lives. The last processes of a command may still be
   * ending.
   */
  async close(): Promise<void> {
    this.#idle.length = 0;
    for (const { parent } of this.hierarchies) removeGroupsNow(join(parent, this.#name));
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const removed = await Promise.all(this.hierarchies.map(({ parent }) => removeGroups(join(parent, this.#name))));
      if (removed.every((done) => done)) return;
      await sleep(ENDING_MS);
    }
  }
}

interface Place {
  folder: string;
  version: 1 | 2;
  controllers: Controller[];
}

/** A group for one command at a time. */
export class CommandGroup {
  readonly #memory: Place | undefined;
  /** Processes that the kernel has ended for memory before this command. */
  #endedBefore = 0;

  constructor(private readonly places: Place[]) {
    this.#memory = places.find(({ controllers }) => controllers.includes('memory'));
  }

  get limitsMemory(): boolean {
    return this.#memory !== undefined;
  }

  async limit({ memoryBytes, processes }: GroupLimits): Promise<void> {
    for (const place of this.places) {
      const set = (file: string, value: number): Promise<void> => writeFile(join(place.folder, file), String(value));
      if (place.controllers.includes('pids')) await set('pids.max', processes);
      if (!place.controllers.includes('memory')) continue;
      if (place.version === 2) {
        await set('memory.max', memoryBytes);
        await set('memory.oom.group', 1);
        await set('memory.swap.max', 0).catch(ignored('a kernel without swap has no such file'));
        continue;
      }
      await set('memory.limit_in_bytes', memoryBytes);
      // Buffers of TCP are not part of the others on version 1.
      await set('memory.kmem.tcp.limit_in_bytes', memoryBytes).catch(ignored('some kernels do not have it'));
      await set('memory.memsw.limit_in_bytes', memoryBytes).catch(() => set('memory.swappiness', 0));
    }
  }

  /** Puts a process that has no children yet into the group. */
  async join(pid: number): Promise<void> {
    this.#endedBefore = await this.#ended();
    await Promise.all(this.places.map(({ folder }) => writeFile(join(folder, 'cgroup.procs'), String(pid))));
  }

  /** Whether the kernel has ended a process since `join`, because the group had all memory that it may. */
  async wasOutOfMemory(): Promise<boolean> {
    return (await this.#ended()) > this.#endedBefore;
  }

  async #ended(): Promise<number> {
    if (this.#memory === undefined) return 0;
    const { folder, version } = this.#memory;
    const text = await readFile(join(folder, version === 2 ? 'memory.events' : 'memory.oom_control'), 'latin1');
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /** The bytes that the command holds: without the pages of files, which the kernel takes back when it needs them. */
  async memory(): Promise<number> {
    if (this.#memory === undefined) return 0;
    const { folder, version } = this.#memory;
    const usage = readFile(join(folder, version === 2 ? 'memory.current' : 'memory.usage_in_bytes'), 'latin1');
    const stat = await readFile(join(folder, 'memory.stat'), 'latin1');
    const ofFiles = [...stat.matchAll(/^(?:in)?active_file (\d+)$/gm)].map(([, bytes]) => Number(bytes));
    return Number(await usage) - ofFiles.reduce((total, bytes) => total + bytes, 0);
  }

  async isEmpty(): Promise<boolean> {
    const all = this.places.map(({ folder }) => readFile(join(folder, 'cgroup.procs'), 'latin1'));
    return Promise.all(all).then(
      (texts) => texts.every((text) => text === ''),
      () => false,
    );
  }

  async remove(): Promise<void> {
    for (const { folder } of this.places) await removeGroups(folder);
  }
}

/** Removes a group and those in it, except where something still runs: false. */
async function removeGroups(folder: string): Promise<boolean> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await removeGroups(join(folder, entry.name));
  }
  return rmdir(folder).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
}

/** Removes a group and those in it, except where something still runs. */
function removeGroupsNow(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeGroupsNow(join(folder, entry.name));
    }
    rmdirSync(folder);
  } catch {
    // Something still runs in it, or there is none.
  }
}

async function findHierarchies({ self, pid }: Source): Promise<Hierarchy[]> {
  const own = ownGroups(await readFile(join(self, 'cgroup'), 'latin1'));
  const mounts = groupMounts(await readFile(join(self, 'mountinfo'), 'latin1'));
  const found: Hierarchy[] = [];
  const reasons: string[] = [];
  const attempt = async (find: () => Promise<Hierarchy | null>): Promise<void> => {
    const hierarchy = await find().catch((error: Error) => void reasons.push(error.message));
    if (hierarchy && hierarchy.controllers.length > 0) found.push(hierarchy);
  };
  for (const mount of mounts) {
    const controllers = CONTROLLERS.filter((name) => mount.controllers.includes(name));
    const path = own.get(mount.version === 2 ? '' : (controllers[0] ?? 'none'));
    const folder = path === undefined ? null : folderOf(mount, path);
    if (folder === null) continue;
    if (mount.version === 2) await attempt(() => delegated(mount.folder, folder, pid));
    else await attempt(() => tried({ version: 1, controllers, parent: folder }));
  }
  if (found.length === 0) throw new Error(reasons[0] ?? 'no cgroups are mounted where this process can see them');
  return found;
}

/** The paths of a process's groups, by controller; '' is version 2. */
function ownGroups(text: string): Map<string, string> {
  return new Map(
    text
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [, controllers, ...path] = line.split(':');
        return controllers!.split(',').map((name): [string, string] => [name, path.join(':')]);
      }),
  );
}

interface GroupMount {
  version: 1 | 2;
  folder: string;
  /** The group that is mounted there. */
  root: string;
  controllers: string[];
}

function groupMounts(text: string): GroupMount[] {
  return text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const [, , , root, folder] = before!.split(' ');
    const [type, , options] = after?.split(' ') ?? [];
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    return [{ version: type === 'cgroup' ? 1 : 2, folder: folder!, root: root!, controllers: options!.split(',') }];
  });
}

/** Null if the mount does not show the group. */
function folderOf({ folder, root }: GroupMount, path: string): string | null {
  if (root === '/') return path === '/' ? folder : join(folder, path);
  return path === root || path.startsWith(`${root}/`) ? join(folder, path.slice(root.length)) : null;
}

/** The hierarchy of version 2: below the worker's own group if that was given to it, else, for root, below the machine's. */
async function delegated(mount: string, own: string, pid: number): Promise<Hierarchy | null> {
  if (basename(own) === LEAF) return enabled(dirname(own));
  // The group of the whole machine has no type, and may have processes beside its groups. A container sees its own group there.
  const isInContainer = own === mount && existsSync(join(own, 'cgroup.type'));
  const isRoot = process.getuid?.() === 0;
  if (isInContainer || (await isAlone(own, pid)) || (!isRoot && UNIT.test(own))) return enabled(own, own);
  if (isRoot && !existsSync(join(mount, 'cgroup.type'))) return enabled(mount);
  throw new Error('other processes are in the cgroup of this one');
}

async function isAlone(group: string, pid: number): Promise<boolean> {
  return (await readFile(join(group, 'cgroup.procs'), 'latin1')).trim() === String(pid);
}

/** Lets groups below `parent` have controllers; `leave` is a group whose processes move to a leaf of it first. */
async function enabled(parent: string, leave?: string): Promise<Hierarchy | null> {
  const there = (await readFile(join(parent, 'cgroup.controllers'), 'latin1')).trim().split(' ');
  const controllers = CONTROLLERS.filter((name) => there.includes(name));
  if (controllers.length === 0) return null;
  const hierarchy = await tried({ version: 2, controllers, parent });
  if (leave !== undefined) await moveToLeaf(leave);
  await writeFile(join(parent, 'cgroup.subtree_control'), enabling(controllers));
  return hierarchy;
}

function enabling(controllers: Controller[]): string {
  return controllers.map((name) => `+${name}`).join(' ');
}

async function moveToLeaf(group: string): Promise<void> {
  const leaf = join(group, LEAF);
  await mkdir(leaf, { recursive: true });
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pids = (await readFile(join(group, 'cgroup.procs'), 'latin1')).split('\n').filter((pid) => pid !== '');
    if (pids.length === 0) return;
    for (const pid of pids) {
      await writeFile(join(leaf, 'cgroup.procs'), pid).catch((error: NodeJS.ErrnoException) => {
        // It has ended.
        if (error.code !== 'ESRCH') throw error;
      });
    }
  }
}

/** @throws Error where no group can be made */
async function tried(hierarchy: Hierarchy): Promise<Hierarchy> {
  const folder = join(hierarchy.parent, `trial-${uniqueName()}`);
  await mkdir(folder);
  await rmdir(folder);
  return hierarchy;
}

/** When a process began, in the kernel's ticks: with its number it names no other process. @throws Error: it has ended */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
}
