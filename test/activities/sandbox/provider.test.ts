import { EventEmitter, once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MountStore } from '../../../activities/sandbox/bubblewrap/mounts.js';
import { openSandboxes } from '../../../activities/sandbox/open.js';
import { SetupError } from '../../../src/platform/setup-error.js';
import { EMPTY_MANIFEST } from '../../../src/workspaces/manifest.js';
import { SandboxFailedError, type Mount } from '../../../src/workspaces/sandbox.js';
import { testConfig } from '../../support/config.js';
import { eventually } from '../../support/eventually.js';
import { testLogger } from '../../support/log.js';
import { newProvider, removeWritable, TestWorkspace, useSandbox } from '../../support/sandbox.js';
import { openTestStorage } from '../../support/storage.js';
import { describeProvider, mountOf } from './provider-table.js';

const { signal } = new AbortController();

describeProvider('a provider of sandboxes', (test) => newProvider({}, test));

describe('the provider of bubblewrap', () => {
  const sandbox = useSandbox();

  it('the provider of bubblewrap brings a mount to the disk once for all sessions', async () => {
    const { mount, counted } = mountOf('shared', 'file', '/mnt/session/uploads/a', { '': 'x' });
    for (const id of ['ses_m1', 'ses_m2'])
      await new TestWorkspace(sandbox, id).bash('cat /mnt/session/uploads/a', { mounts: [mount] });
    expect(counted.opened).to.equal(1);
  });

  it('the provider of bubblewrap treats a command that could not begin as its own failure, never as a result', async () => {
    const broken = newProvider({ sandboxRoot: '/nowhere' });
    try {
      const opened = await broken.provider.open(
        { sessionId: 'ses_b', projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] },
        signal,
      );
      const io = { cwd: '/', stdin: null, timeoutMs: 5000, onOutput: () => undefined, signal };
      const failure: unknown = await opened.run(['bash', '-c', 'true'], io).catch((error: unknown) => error);
      await opened.close(null);
      expect(failure).to.be.instanceOf(SandboxFailedError).with.property('message').that.contains('/nowhere/usr');
      expect((await broken.provider.check())!.reason).to.contain('/nowhere/usr');
    } finally {
      broken.remove();
    }
  });

  it('the provider of bubblewrap lets a command set no attributes of files, which no version would keep', async () => {
    const script = `import ctypes, errno, fcntl, os, struct
open('f', 'w').close(); os.mkdir('d')
f = os.open('f', os.O_RDWR)
def refused(name, call):
    try: call(); print(name, 'is set')
    except OSError as error: print(name, errno.errorcode[error.errno])
refused('attribute', lambda: os.setxattr('f', 'user.a', b'x'))
refused('attribute of a link', lambda: os.setxattr('f', 'user.a', b'x', follow_symlinks=False))
refused('attribute of an open file', lambda: os.setxattr(f, 'user.a', b'x'))
refused('access list', lambda: os.setxattr('d', 'system.posix_acl_default', bytes.fromhex('0200000001000700ffffffff04000700ffffffff20000700ffffffff')))
refused('flags', lambda: fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x40)))
refused('flags of a project', lambda: fcntl.ioctl(f, 0x401c5820, bytes(28)))
print(os.listxattr('f'), os.listxattr('d'))`;
    const { output } = await sandbox.bash(`/usr/bin/python3 -c "${script}"; echo a > a; cp -a a b && cat b`);
    expect(output.split('\n')).to.deep.equal([
      ...['attribute', 'attribute of a link', 'attribute of an open file', 'access list'].map(
        (name) => `${name} ENOTSUP`,
      ),
      ...['flags', 'flags of a project'].map((name) => `${name} ENOTSUP`),
      '[] []',
      'a',
      '',
    ]);
  });

  it('the provider of bubblewrap goes on in a new folder when its own is gone', async () => {
    const made = newProvider({}, sandbox.test);
    try {
      const mine = new TestWorkspace({ ...made }, 'ses_gone');
      await mine.bash('echo kept > a');
      removeWritable(made.sandboxDir);
      expect((await mine.bash('cat a')).output).to.equal('kept\n');
    } finally {
      made.provider.close();
    }
  });

  it('the provider of bubblewrap removes what workers that are gone have left, and nothing of those that live', async () => {
    const made = newProvider({}, sandbox.test);
    try {
      const place = (name: string): string => join(made.sandboxDir, name);
      for (const name of [`worker-${'0'.repeat(26)}`, `worker-${'1'.repeat(26)}`, 'of someone else'])
        mkdirSync(place(name));
      mkdirSync(join(place(`worker-${'0'.repeat(26)}`), 'trees'));
      for (const name of [`worker-${'0'.repeat(26)}`, 'of someone else'])
        utimesSync(place(name), 1, Date.now() / 1000 - 700);
      expect(await made.provider.check()).to.equal(null);
      await eventually('the old folder is gone', () => !existsSync(place(`worker-${'0'.repeat(26)}`)));
      expect(existsSync(place(`worker-${'1'.repeat(26)}`)) && existsSync(place('of someone else'))).to.equal(true);
      made.provider.close();
      await eventually('its own is gone', () => readdirSync(made.sandboxDir).length === 2);
    } finally {
      made.provider.close();
      rmSync(made.sandboxDir, { recursive: true, force: true });
    }
  });
});

describe('contents of mounts on the disk of a worker', () => {
  it('contents of mounts on the disk of a worker give way by bytes, those that were used longest ago first, and none that a sandbox has', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mounts-'));
    try {
      const mounts = new MountStore(folder, testLogger(), 25);
      const [a, b, c] = ['a', 'b', 'c'].map((id) =>
        mountOf(id, 'file', `/mnt/session/uploads/${id}`, { '': 'x'.repeat(10) }),
      );
      const use = async (...used: (typeof a)[]): Promise<() => void> =>
        (
          await mounts.hold(
            'ses_1',
            used.map((one) => one!.mount),
            signal,
          )
        ).release;
      const held = await use(a);
      (await use(b))();
      (await use(c))();
      await eventually('b has given way', () => mounts.bytes === 20);
      held();
      (await use(a))();
      expect([a, b, c].map((one) => one!.counted.opened)).to.deep.equal([1, 1, 1]);
      (await use(b))();
      expect(b!.counted.opened).to.equal(2);
      const names = (): string[] => readdirSync(folder);
      // Two contents, and for each a folder that is mounted.
      await eventually('c has given way', () => mounts.bytes === 20 && names().length === 4);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('contents of mounts on the disk of a worker are loaded again after a failure, and a call that is cancelled does not wait for them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mounts-'));
    try {
      const mounts = new MountStore(folder, testLogger());
      let fails = true;
      const mount: Mount = {
        id: 'm',
        bytes: 1,
        kind: 'folder',
        target: '/mnt/skills/m',
        async *contents() {
          if (fails) throw new Error('the storage is away');
          yield { path: 'x', content: Buffer.from('x') };
        },
      };
      expect(await mounts.hold('ses_1', [mount], signal).catch((error: Error) => error.message)).to.equal(
        'the storage is away',
      );
      fails = false;
      (await mounts.hold('ses_1', [mount], signal)).release();
      expect(mounts.bytes).to.equal(1);
      const reads = new EventEmitter();
      const next = async (): Promise<never> => {
        reads.emit('read');
        return await new Promise(() => undefined);
      };
      const slow: Mount = { ...mount, id: 'slow', contents: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
      const stop = new AbortController();
      const read = once(reads, 'read');
      const waits = mounts.hold('ses_1', [slow], stop.signal).catch((error: Error) => error.message);
      // Its folder is made before its contents are read.
      await read;
      stop.abort(new Error('cancelled'));
      expect(await waits).to.equal('cancelled');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('many contents of mounts', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'mounts-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Mounts whose contents come when the test lets them. */
  const slowMounts = (count: number) => {
    const opened: string[] = [];
    const waiting: (() => void)[] = [];
    const mounts = Array.from({ length: count }, (_, at): Mount => ({
      ...{ id: `slow_${at}`, kind: 'file', target: `/mnt/session/uploads/${at}`, bytes: 1 },
      async *contents() {
        opened.push(`slow_${at}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
        yield { path: '', content: Buffer.from('x') };
      },
    }));
    return { mounts, opened, waiting };
  };

  it('many contents of mounts are brought eight at a time', async () => {
    const store = new MountStore(folder, testLogger());
    const { mounts, opened, waiting } = slowMounts(20);
    const held = store.hold('ses_1', mounts, signal);
    let most = 0;
    for (let brought = 0; brought < 20; brought += 1) {
      await eventually('the next contents are asked for', () => opened.length === Math.min(20, brought + 8));
      most = Math.max(most, waiting.length);
      waiting.shift()!();
    }
    (await held).release();
    expect(most).to.equal(8);
  });

  it('many contents of mounts are not asked for any more when their call was cancelled, and come for the next one', async () => {
    const store = new MountStore(folder, testLogger());
    const { mounts, opened, waiting } = slowMounts(20);
    const stop = new AbortController();
    const held = store.hold('ses_1', mounts, stop.signal).catch((error: Error) => error.message);
    await eventually('eight are asked for', () => opened.length === 8);
    stop.abort(new Error('cancelled'));
    expect(await held).to.equal('cancelled');
    waiting.splice(0).forEach((go) => go());
    await eventually('all eight are there', () => store.bytes === 8);
    expect(opened).to.have.length(8);
    const next = store.hold('ses_1', mounts, signal);
    for (let brought = 8; brought < 20; brought += 1) {
      await eventually('the next one is asked for', () => waiting.length > 0);
      waiting.shift()!();
    }
    (await next).release();
    expect(opened.toSorted()).to.deep.equal(mounts.map(({ id }) => id).toSorted());
  });

  it('many contents of mounts cost nothing at the next call that shows the same ones', async () => {
    const store = new MountStore(folder, testLogger());
    const mounts = Array.from({ length: 100 }, (_, at) =>
      mountOf(`m${at}`, 'file', `/mnt/session/uploads/${at}`, { '': 'x' }),
    );
    const use = async (count: number) => {
      const { placed, release } = await store.hold(
        'ses_1',
        mounts.slice(0, count).map(({ mount }) => mount),
        signal,
      );
      release();
      return placed;
    };
    const first = await use(99);
    expect(first.map(({ target }) => target)).to.deep.equal(['/mnt/session/uploads']);
    const before = statSync(first[0]!.source).ctimeMs;
    expect(await use(99)).to.deep.equal(first);
    expect(statSync(first[0]!.source).ctimeMs).to.equal(before);
    const [more] = await use(100);
    expect(readdirSync(more!.source)).to.have.length(100);
    expect(mounts.map(({ counted }) => counted.opened)).to.deep.equal(mounts.map(() => 1));
  });

  it('many contents of mounts are refused before the first one where the disk has no room for them', async () => {
    const store = new MountStore(folder, testLogger());
    const { mounts, opened } = slowMounts(2);
    const huge = mounts.map((mount) => ({ ...mount, bytes: 2 ** 50 }));
    const failure = await store.hold('ses_1', huge, signal).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(SandboxFailedError).with.property('message').that.contains('no room');
    expect(opened).to.deep.equal([]);
  });
});

describe('a machine without user namespaces', () => {
  let folder = '';
  const { PATH } = process.env;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'without-namespaces-'));
    const says = 'bwrap: No permissions to create new namespace';
    writeFileSync(join(folder, 'bwrap'), `#!/bin/sh\n[ "$1" = --help ] && exit; echo "${says}" >&2; exit 1\n`);
    chmodSync(join(folder, 'bwrap'), 0o755);
    chmodSync(folder, 0o755);
    process.env.PATH = `${folder}:${PATH}`;
  });
  after(() => {
    process.env.PATH = PATH;
    rmSync(folder, { recursive: true });
  });

  it('a machine without user namespaces runs no command, and says why and what to do', async () => {
    const { provider, remove } = newProvider();
    try {
      const { reason, remedy } = (await provider.check())!;
      expect(reason).to.match(
        /^A sandbox of bubblewrap does not work here: .*No permissions to create new namespace\.$/,
      );
      expect(remedy).to.contain('docs/operations/sandbox.md');
      const opened = await provider.open(
        { sessionId: 'ses_n', projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] },
        signal,
      );
      const proof = join(folder, 'ran');
      const io = { cwd: '/', stdin: null, timeoutMs: 5000, onOutput: () => undefined, signal };
      const failure: unknown = await opened.run(['bash', '-c', `touch ${proof}`], io).catch((error: unknown) => error);
      await opened.close(null);
      expect(failure).to.be.instanceOf(SandboxFailedError);
      expect(existsSync(proof)).to.equal(false);
    } finally {
      remove();
    }
  });

  it('a machine without user namespaces ends a worker that was told to have sandboxes, and none that was not', async () => {
    const test = openTestStorage();
    const start = (sandboxProvider: 'bubblewrap' | 'kubernetes' | 'off') => {
      const { config, remove } = testConfig('postgres://localhost/none', [], { sandboxProvider });
      return openSandboxes(config, test.storage, testLogger()).finally(remove);
    };
    const failure: unknown = await start('bubblewrap').catch((error: unknown) => error);
    expect(failure)
      .to.be.instanceOf(SetupError)
      .with.property('message')
      .that.matches(/^SANDBOX_PROVIDER is bubblewrap, and no command can be run\. /);
    const outside: unknown = await start('kubernetes').catch((error: unknown) => error);
    expect(outside)
      .to.be.instanceOf(SetupError)
      .with.property('message')
      .that.matches(/^SANDBOX_PROVIDER is kubernetes, and no command can be run\. This process runs in no pod/);
    const off = await start('off');
    expect(off.provider).to.equal(null);
    expect(off.isUp()).to.equal(false);
    test.remove();
  });
});
