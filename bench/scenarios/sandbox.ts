import { spawnSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { findBubblewrap } from '../../activities/sandbox/bubblewrap/find.js';
import { MIB } from '../../src/platform/units.js';
import { listSkillFiles, openSkillFile } from '../../src/skills/content.js';
import type { Skill } from '../../src/skills/store.js';
import type { Mount } from '../../src/workspaces/sandbox.js';
import { skillMd, zip } from '../../test/src/skills/zip.js';
import type { FaultSystem } from '../../test/support/fault-system.js';
import { processesWith } from '../../test/support/processes-with.js';
import { newProvider, TestWorkspace } from '../../test/support/sandbox.js';
import { message, text, toolUse } from '../../test/support/scripted-model.js';
import type { Bench } from '../bench.js';
import {
  inParallel,
  memoryOf,
  pause,
  shown,
  timed,
  timedEach,
  until,
  usageOf,
  usedBetween,
  type Usage,
} from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

type Made = ReturnType<typeof newProvider>;
interface Options {
  runs: number;
  turns: number;
}

/** Turns at a time: as many commands as a project may run. */
const AT_ONCE = 4;
const IDLE_MS = 20_000;
/** A step's warm-up, and the time in which a worker's memory settles. */
const SETTLED_MS = 3_000;

const PARTS: Record<string, (bench: Bench, options: Options) => Promise<void>> = {
  small: withProvider(measureSmall),
  entries: withProvider(measureEntries),
  mounts: withProvider(measureMounts),
  step: measureStep,
  memory: measureMemory,
};

export default scenario({
  measures: `commands in sandboxes; --part ${Object.keys(PARTS).join(', ')} (small: against a bare bwrap in the same run; step: what one costs each part of the service; memory: of a worker with open sandboxes)`,
  options: { part: 'all', runs: 60, turns: 100 },
  async run(bench, { part, runs, turns }) {
    const chosen = Object.keys(PARTS).filter((name) => part === 'all' || part === name);
    if (chosen.length === 0) throw new Error(`Give --part one of: all, ${Object.keys(PARTS).join(', ')}`);
    for (const name of chosen) {
      await PARTS[name]!(bench, { runs, turns });
      row(`load after ${name}`, loadavg()[0]!.toFixed(0));
    }
  },
});

function withProvider(measure: (made: Made, options: Options) => Promise<void>) {
  return async (_: Bench, options: Options): Promise<void> => {
    const made = newProvider({ sandboxDiskMb: 1024 });
    try {
      const problem = await made.provider.check();
      if (problem !== null) throw new Error(`${problem.reason} ${problem.remedy}`);
      await measure(made, options);
    } finally {
      made.remove();
    }
  };
}

/** A row with the time and this process's CPU time of one command, which must end with 0. */
async function rowOf(name: string, workspace: TestWorkspace, command: string, mounts: Mount[] = []): Promise<void> {
  const before = process.cpuUsage();
  let code: number | null = null;
  const ms = await timed(async () => ({ code } = await workspace.bash(command, { mounts })));
  if (code !== 0) throw new Error(`${name}: the command ended with ${code}`);
  const { user, system } = process.cpuUsage(before);
  row(name, `${ms.toFixed(0)} ms (CPU of the worker ${((user + system) / 1000).toFixed(0)} ms)`);
}

function restored(made: Made, from: TestWorkspace, id: string): TestWorkspace {
  const workspace = new TestWorkspace(made, id);
  workspace.manifest = from.manifest;
  return workspace;
}

async function measureSmall(made: Made, { runs }: Options): Promise<void> {
  const bwrap = (await findBubblewrap())!;
  const small = new TestWorkspace(made, 'small');
  await small.bash('for i in {1..100}; do echo $i > f$i; done');
  const [bare, calls]: [number[], number[]] = [[], []];
  await timedEach(runs, async () => {
    bare.push(await timed(async () => spawnSync(bwrap, ['--unshare-all', '--ro-bind', '/', '/', 'true'])));
    calls.push(await timed(() => small.bash('true')));
  });
  row('bare bwrap', shown(bare, 1));
  row('true, 100 files', shown(calls, 1));
  const large = new TestWorkspace(made, 'large');
  await large.bash('for i in {1..1000}; do head -c 10000 /dev/urandom > f$i; done');
  await rowOf('1,000 files of 10 MB, no change', large, 'true');
  await rowOf('1,000 files, 5 changed', large, 'for i in {1..5}; do echo x >> f$i; done');
  await rowOf('1,000 files, restored first', restored(made, large, 'cold'), 'true');
}

async function measureEntries(made: Made): Promise<void> {
  const full = new TestWorkspace(made, 'full');
  const fill = 'for d in {1..100}; do mkdir d$d; for f in {1..199}; do echo $d $f > d$d/f$f; done; done';
  await rowOf('20,000 entries written and stored', full, fill);
  await rowOf('20,000 entries, no change', full, 'true');
  await rowOf('20,000 entries, no change, again', full, 'true');
  await rowOf('20,000 entries, 5 changed', full, 'for d in {1..5}; do echo x >> d$d/f1; done');
  await rowOf('20,000 entries, restored first', restored(made, full, 'cold'), 'true');
}

async function measureMounts(made: Made): Promise<void> {
  const { storage } = made.test;
  const large = Buffer.alloc(25 * MIB, 'a line of a skill\n');
  const parts = Array.from({ length: 8 }, (_, n) => ({
    name: `data/${n}`,
    content: n === 0 ? large.subarray(MIB) : large,
    method: 0,
  }));
  const archive = zip([{ name: 'SKILL.md', content: skillMd('large'), method: 0 }, ...parts]);
  await storage.put('skill', archive, { contentType: 'application/zip', size: archive.length });
  const skill = { storage_key: 'skill', size_bytes: archive.length } as Skill;
  const folder: Mount = {
    id: 'skill',
    kind: 'folder',
    target: '/mnt/skills/large',
    bytes: archive.length,
    contents: () => filesOf(skill),
  };
  async function* filesOf(stored: Skill): ReturnType<Mount['contents']> {
    for (const file of await listSkillFiles(storage, stored))
      yield { path: file.path, content: await openSkillFile(storage, stored, file) };
  }
  const used = new TestWorkspace(made, 'with-a-skill');
  const check = 'test -x /mnt/skills/large/data/7';
  await rowOf('a skill of 200 MiB, first command', used, check, [folder]);
  await rowOf('a skill of 200 MiB, second command', used, check, [folder]);
  await rowOf('a skill of 200 MiB, another session', new TestWorkspace(made, 'other'), check, [folder]);
  const upload = Buffer.alloc(100 * MIB, 'a line of an upload\n');
  await storage.put('upload', upload, { contentType: 'text/plain', size: upload.length });
  const target = '/mnt/session/uploads/large.txt';
  const file: Mount = { id: 'upload', kind: 'file', target, bytes: upload.length, contents: () => contentOf('upload') };
  async function* contentOf(key: string): ReturnType<Mount['contents']> {
    yield { path: '', content: await storage.open(key) };
  }
  await rowOf('an upload of 100 MiB, first command', used, `test -s ${target}`, [file]);
  await rowOf('an upload of 100 MiB, second command', used, `test -s ${target}`, [file]);
}

function startSystem(bench: Bench, own: boolean): Promise<FaultSystem> {
  const env = { SANDBOX_PROVIDER: 'bubblewrap', SANDBOX_MAX_COMMANDS: '16', WORKER_MAX_ACTIVITIES: '40' };
  return bench.system({ env, ...(own && { ownPostgres: true, ownTemporal: { persistent: true } }) });
}

const newSession = (system: FaultSystem): Promise<string> => system.session({ tools: [{ type: 'workspace' }] });

/** Turns of two model calls and one step between them, in sessions with a workspace. */
async function measureStep(bench: Bench, { turns }: Options): Promise<void> {
  const system = await startSystem(bench, true);
  const steps = { list_files: {}, bash: { command: 'true' } };
  for (const [name, input] of Object.entries(steps)) {
    system.model.on(new RegExp(`Call ${name}`), ({ body }) =>
      body.messages.some(({ role }) => role === 'assistant') ? text('done') : message([toolUse(name, input)]),
    );
  }
  const run = (name: string, count: number): Promise<unknown> =>
    inParallel(AT_ONCE, count, async () => {
      const { ended } = await system.stream(await system.send(await newSession(system), `Call ${name}`));
      await ended;
    });
  for (const name of Object.keys(steps)) await run(name, 20);
  await pause(SETTLED_MS);
  const begin = await usageOf(system);
  await pause(IDLE_MS);
  const idle: [Usage, Usage] = [begin, await usageOf(system)];
  for (const name of Object.keys(steps)) {
    const before = await usageOf(system);
    await run(name, turns);
    const used = usedBetween(before, await usageOf(system), idle);
    const each = (part: 'api' | 'worker' | 'temporal' | 'postgres'): string =>
      `${part} ${((used[part] / turns) * 1000).toFixed(1)}`;
    row(`CPU of a turn with ${name}, ms`, (['api', 'worker', 'temporal', 'postgres'] as const).map(each).join(', '));
  }
  await system.close();
}

async function measureMemory(bench: Bench): Promise<void> {
  const system = await startSystem(bench, false);
  const { pid } = system.workers[0]!;
  system.model.on(/Warm up/, ({ body }) =>
    body.messages.some(({ role }) => role === 'assistant')
      ? text('done')
      : message([toolUse('bash', { command: 'true' })]),
  );
  await inParallel(AT_ONCE, 20, async () => {
    const { ended } = await system.stream(await system.send(await newSession(system), 'Warm up'));
    await ended;
  });
  await pause(SETTLED_MS);
  row('RSS of the worker, 0 sandboxes', `${memoryOf(pid, 'VmRSS')} MiB`);
  // The argument marks these processes among those of the machine.
  const mark = `600.${process.pid}`;
  system.model.on(/Wait/, () => toolUse('bash', { command: `sleep ${mark} # `, timeout_ms: 600_000 }));
  for (const open of [4, 8]) {
    const isOpen = (): boolean => processesWith(`sleep\0${mark}`).length === open;
    for (let more = 0; more < 4; more += 1) await system.send(await newSession(system), 'Wait');
    await until(isOpen);
    await pause(SETTLED_MS);
    row(`RSS of the worker, ${open} sandboxes`, `${memoryOf(pid, 'VmRSS')} MiB`);
  }
  await system.close();
}
