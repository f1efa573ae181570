import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CommandGroups } from '../../../activities/sandbox/bubblewrap/cgroups.js';
import { mountsBelow } from '../../../activities/sandbox/bubblewrap/images.js';
import { OutputPace } from '../../../activities/sandbox/bubblewrap/output-pace.js';
import { isLow, stopLargest, type Holder } from '../../../activities/sandbox/bubblewrap/reserve.js';
import { EMPTY_MANIFEST } from '../../../src/workspaces/manifest.js';
import { formatLimits } from '../../../src/workspaces/sandbox.js';
import { eventually } from '../../support/eventually.js';
import { WAYS } from '../../support/limited-sandbox.js';
import { newProvider, useSandbox } from '../../support/sandbox.js';
import { skip } from '../../support/skip.js';
import { describeAttacks } from './limits-table.js';

const CORE = ['reserved', 'unnamed', 'notUtf8', 'shared', 'semaphores'];
for (const way of WAYS) describeAttacks(`a limit of a command, ${way.title},`, way, CORE);

describe('limits that the kernel keeps', () => {
  const sandbox = useSandbox((test) => newProvider({ sandboxMemoryMb: 64, sandboxDiskMb: 16 }, test));
  before(async function () {
    await sandbox.provider.check();
    const { limits } = sandbox.provider;
    if (limits?.memory !== 'cgroup' || limits.disk !== 'file system')
      skip(this, 'the machine allows no cgroups or no mounts');
  });

  it('limits that the kernel keeps stop a command for memory whose child was ended for it, although the command goes on', async () => {
    const child = `head -c 40M /dev/zero > /dev/shm/x; tail -c 40M /dev/zero | head -c 40M > /dev/shm/y; sort -S 60M /dev/zero; echo after`;
    expect(await sandbox.bash(child)).to.include({ stopped: 'memory', code: null });
  });

  it('limits that the kernel keeps are those of each command: one after a stopped one has all of its memory', async () => {
    expect(await sandbox.bash('head -c 60M /dev/zero > /dev/shm/x; sort -S 60M /dev/zero')).to.include({
      stopped: 'memory',
    });
    expect(await sandbox.bash('head -c 40M /dev/zero > /dev/shm/x; echo done')).to.include({
      stopped: null,
      output: 'done\n',
    });
  });

  it('limits that the kernel keeps show a command no path of the machine to its tree, and no command line of the kernel', async () => {
    const { output } = await sandbox.bash(
      'grep " /workspace " /proc/self/mountinfo | cut -d" " -f4; cat /proc/cmdline',
    );
    expect(output).to.equal('/workspace\ncat: /proc/cmdline: Permission denied\n');
  });

  it('limits that the kernel keeps leave no file system and no group when the worker closes, or was killed before', async () => {
    const made = newProvider({}, sandbox.test);
    try {
      expect(await made.provider.check()).to.equal(null);
      const opened = await made.provider.open(
        { sessionId: 'ses_left', projectId: 'p', base: EMPTY_MANIFEST, mounts: [] },
        new AbortController().signal,
      );
      expect(mountsBelow(made.sandboxDir)).to.have.length(1);
      const [folder] = readdirSync(made.sandboxDir);
      // As a killed worker's: its folder is old, and nobody holds it.
      utimesSync(join(made.sandboxDir, folder!), 1, 1);
      const next = newProvider({ sandboxDir: made.sandboxDir, dataDir: made.sandboxDir }, sandbox.test);
      await next.provider.check();
      await eventually('the file system is gone', () => mountsBelow(made.sandboxDir).length === 0);
      await eventually('its folder is gone', () => !existsSync(join(made.sandboxDir, folder!)));
      next.provider.close();
      await opened.close(null).catch(() => undefined);
    } finally {
      made.remove();
    }
  });

  it('limits that the kernel keeps leave no group when the worker ends as soon as it has closed', async () => {
    const groups = await CommandGroups.find({ memoryBytes: 1 << 26, processes: 256 });
    const find = ['/sys/fs/cgroup', '-type', 'd', '-name', `sandboxes-${process.pid}-*`];
    const left = (): string => spawnSync('find', find, { encoding: 'utf8' }).stdout;
    expect(left()).to.include('sandboxes-');
    for (const folder of left()
      .split('\n')
      .filter((path) => /\/sandboxes-[^/]*$/.test(path))) {
      // Of version 1: a quarter of what a busy thread for each core has.
      const shares = join(folder, 'cpu.shares');
      if (existsSync(shares)) expect(Number(readFileSync(shares, 'utf8'))).to.equal(256 * availableParallelism());
    }
    const closing = groups.close();
    expect(left()).to.equal('');
    await closing;
  });
});

it('the output of a command is read at once up to 100 MiB, and at 8 MiB a second beyond', () => {
  const MIB = 1024 * 1024;
  const pace = new OutputPace();
  expect([60, 40].map((mib) => pace.pauseAfter(mib * MIB))).to.deep.equal([0, 0]);
  expect([1, 8].map((mib) => pace.pauseAfter(mib * MIB))).to.deep.equal([125, 1000]);
  expect(new OutputPace().pauseAfter(108 * MIB)).to.equal(1000);
});

describe('groups of commands', () => {
  /** A worker's view of version 2: its own group, and whether the mount is the machine's own. */
  function groupsOf(own: string, { isMachine, others = '' }: { isMachine: boolean; others?: string }) {
    const root = mkdtempSync(join(tmpdir(), 'groups-'));
    const self = join(root, 'self');
    mkdirSync(self);
    const mount = join(root, 'mount');
    const group = join(mount, own);
    mkdirSync(group, { recursive: true });
    for (const folder of new Set([mount, group, join(group, '..')])) {
      writeFileSync(join(folder, 'cgroup.controllers'), 'cpu io memory pids\n');
      if (folder !== mount || !isMachine) writeFileSync(join(folder, 'cgroup.type'), 'domain\n');
    }
    writeFileSync(join(group, 'cgroup.procs'), `${process.pid}\n${others}`);
    writeFileSync(join(self, 'cgroup'), `0::${own}\n`);
    writeFileSync(
      join(self, 'mountinfo'),
      `30 23 0:26 / ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`,
    );
    return {
      root,
      mount,
      group,
      find: () => CommandGroups.find({ memoryBytes: 1 << 26, processes: 256 }, { self, pid: process.pid }),
    };
  }
  /** A plain folder has no files of the kernel: groups are made and limited, and the trial with a process fails. */
  const madeBy = async (find: () => Promise<unknown>): Promise<void> => {
    const failure = await find().catch((error: Error) => error.message);
    expect(failure).to.match(/memory\.events|^other processes/);
  };
  const enabled = (folder: string): string => readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8');
  const madeIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('sandboxes-'));

  it('groups of commands are made below the delegated group of a unit, whose process moves to a leaf of it', async () => {
    const { root, group, find } = groupsOf('/system.slice/agent-session-worker.service', { isMachine: true });
    try {
      await madeBy(find);
      expect(readFileSync(join(group, 'service', 'cgroup.procs'), 'utf8')).to.equal(String(process.pid));
      expect(enabled(group)).to.equal('+memory +pids +cpu');
      const [name] = madeIn(group);
      expect(enabled(join(group, name!))).to.equal('+memory +pids +cpu');
      expect(readFileSync(join(group, name!, 'cpu.weight'), 'utf8')).to.equal('25');
      const [command] = readdirSync(join(group, name!)).filter((entry) => entry.startsWith('command-'));
      const set = (file: string): string => readFileSync(join(group, name!, command!, file), 'utf8');
      expect(['memory.max', 'memory.swap.max', 'memory.oom.group', 'pids.max'].map(set)).to.deep.equal([
        '67108864',
        '0',
        '1',
        '256',
      ]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('groups of commands are made beside the leaf where a worker before has made it, and below the group of a whole container', async () => {
    const later = groupsOf('/system.slice/worker.service/service', { isMachine: true });
    const container = groupsOf('/', { isMachine: false, others: '1\n' });
    try {
      await madeBy(later.find);
      expect(madeIn(join(later.group, '..'))).to.have.length(1);
      await madeBy(container.find);
      expect(madeIn(container.mount)).to.have.length(1);
      expect(existsSync(join(container.mount, 'service'))).to.equal(true);
    } finally {
      for (const { root } of [later, container]) rmSync(root, { recursive: true });
    }
  });

  it('groups of commands of root are the machine’s where other processes are in the worker’s group, and an ordinary user has none there', async () => {
    const { root, group, mount, find } = groupsOf('/user.slice/session-3.scope', { isMachine: true, others: '1\n' });
    try {
      if (process.getuid?.() === 0) {
        await madeBy(find);
        expect(madeIn(mount)).to.have.length(1);
      } else
        expect(await find().catch((error: Error) => error.message)).to.contain('other processes are in the cgroup');
      expect(existsSync(join(group, 'service'))).to.equal(false);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('the reserve of a machine', () => {
  const GIB = 1024 ** 3;

  it('the reserve of a machine is a twentieth of its memory, at most 512 MiB', () => {
    expect(isLow({ total: 64 * GIB, available: 0.4 * GIB })).to.equal(true);
    expect(isLow({ total: 64 * GIB, available: 0.6 * GIB })).to.equal(false);
    expect(isLow({ total: 2 * GIB, available: 0.09 * GIB })).to.equal(true);
    expect(isLow({ total: 2 * GIB, available: 0.11 * GIB })).to.equal(false);
  });

  it('the reserve of a machine is kept by the command that holds most, and no command ends for it that holds next to nothing', async () => {
    const stopped: string[] = [];
    const holder = (name: string, mib: number): Holder => ({
      ...{ folder: '/', maxMemory: GIB, kernel: () => Promise.resolve(0), disk: () => Promise.resolve(0) },
      memory: () => Promise.resolve(mib * 1024 * 1024),
      stop: (why) => void stopped.push(`${name}: ${why}`),
    });
    const memory = (one: Holder): Promise<number> => one.memory();
    await stopLargest([holder('small', 20), holder('large', 300), holder('middle', 200)], 'memory', memory);
    await stopLargest([holder('idle', 3)], 'memory', memory);
    expect(stopped).to.deep.equal(['large: memory']);
  });

  it('the reserve of a machine and the limits are said in one sentence', () => {
    expect(formatLimits({ memory: 'cgroup', processes: 'cgroup', cpu: 'cgroup', disk: 'watched' })).to.equal(
      'limits of commands: memory, processes, cpu kept by cgroups; disk watched, not kept by the kernel',
    );
  });
});
