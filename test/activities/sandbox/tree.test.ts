import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { Tree } from '../../../activities/sandbox/tree.js';
import {
  decodeManifest,
  diffEntries,
  EMPTY_MANIFEST,
  encodeManifest,
  entryBytes,
  nameBytes,
  treeDigest,
  type Manifest,
} from '../../../src/workspaces/manifest.js';
import { PackReader, storeContents } from '../../../src/workspaces/packs.js';
import { MAX_NAME_BYTES } from '../../../src/workspaces/layout.js';
import { eventually } from '../../support/eventually.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';

const NAMES = [
  'a',
  'a-b',
  'a.txt',
  'ä',
  '😀',
  '\uffee',
  'with space',
  'line\nfeed',
  '\u001b[31m',
  '-rf',
  '*',
  'b'.repeat(200),
];
const MAX_BYTES = 64 * 1024 * 1024;
const { signal } = new AbortController();

/** One change of a tree on disk. */
interface Change {
  kind: 'write' | 'append' | 'folder' | 'link' | 'tie' | 'remove' | 'mode' | 'time';
  path: string[];
  size: number;
  mode: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('write', 'write', 'append', 'folder', 'link', 'tie', 'remove', 'mode', 'time'),
  path: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
  size: fc.constantFrom(0, 1, 100, 5000, 300_000),
  mode: fc.constantFrom(0o644, 0o755, 0o4755, 0o600, 0o000, 0o1777),
});

function apply(root: string, { kind, path, size, mode }: Change): void {
  const place = join(root, ...path);
  const bytes = Buffer.alloc(size, `${path.join()}${mode}${size}`);
  try {
    if (kind === 'folder') mkdirSync(place, { recursive: true });
    else if (kind === 'remove') rmSync(place, { recursive: true });
    else if (kind === 'mode') chmodSync(place, mode);
    else if (kind === 'time') utimesSync(place, 1, 1_700_000_000 + size + 0.1234567);
    else if (kind === 'link') symlinkSync(size > 100 ? '/etc/shadow' : path[0]!, place);
    else if (kind === 'tie') linkSync(join(root, path[0]!), place);
    else writeFileSync(place, bytes, { flag: kind === 'append' ? 'a' : 'w' });
  } catch {
    // Some changes are not possible in this tree.
  }
}

/** All that is kept of a tree, a line each, read without the code under test. */
function kept({ folder }: Tree): string[] {
  const linesOf = (path: string): string[] => {
    const { mode, mtimeMs } = lstatSync(path);
    const line = `${relative(folder, path)} ${mode.toString(8)}`;
    // An ordinary user cannot read what its own tests have closed.
    const read = <T>(what: () => T): T | string => {
      try {
        return what();
      } catch (error) {
        return (error as NodeJS.ErrnoException).code!;
      }
    };
    if ((mode & constants.S_IFMT) === constants.S_IFLNK) return [`${line} -> ${readlinkSync(path)}`];
    if ((mode & constants.S_IFMT) === constants.S_IFREG) {
      const hash = read(() => createHash('sha256').update(readFileSync(path)).digest('hex'));
      return [`${line} ${Math.floor(mtimeMs)} ${hash}`];
    }
    const names = read(() => readdirSync(path).sort());
    if (typeof names === 'string') return [`${line} ${names}`];
    return [line, ...names.flatMap((name) => linesOf(join(path, name)))];
  };
  return linesOf(folder);
}

describe('a tree of a workspace', () => {
  let test: TestStorage;
  let folder: string;
  let trees = 0;
  beforeEach(() => {
    test = openTestStorage();
    folder = mkdtempSync(join(tmpdir(), 'trees-'));
  });
  afterEach(() => {
    test.remove();
    execFileSync('rm', ['-rf', folder]);
  });

  const newTree = (): Tree => {
    const tree = new Tree(join(folder, String((trees += 1))), null);
    tree.create();
    return tree;
  };
  /** What a call does after its command: scans the tree, stores what is new, and seals the tree. */
  const store = async (tree: Tree, base: Manifest): Promise<Manifest> => {
    const { entries } = await tree.scan(MAX_BYTES);
    const scanned = { entries, packs: [], delivered: base.delivered };
    const contentOf = (path: string) => tree.contentOf(entries.find((entry) => entry.path === path) as never);
    const { manifest } = await storeContents(test.storage, 'ses_1', { manifest: scanned, base }, contentOf);
    await tree.seal(entries);
    return decodeManifest(await encodeManifest(manifest));
  };
  const restored = async (manifest: Manifest): Promise<Tree> => {
    const tree = newTree();
    await tree.restore(new PackReader(test.storage), manifest, signal);
    return tree;
  };

  it('a tree of a workspace is restored elsewhere with the same contents, modes, links and times, after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 4 }), async (rounds) => {
        const tree = newTree();
        let manifest = EMPTY_MANIFEST;
        for (const changes of rounds) {
          for (const one of changes) apply(join(tree.folder, 'workspace'), one);
          manifest = await store(tree, manifest);
          const copy = await restored(manifest);
          expect(kept(copy)).to.deep.equal(kept(tree));
          const again = await copy.scan(MAX_BYTES);
          expect(await treeDigest(again.entries)).to.equal(await treeDigest(manifest.entries));
          expect(await diffEntries(manifest.entries, again.entries)).to.deep.equal({
            created: [],
            modified: [],
            deleted: [],
          });
        }
      }),
      { numRuns: 40 },
    );
  });

  it('a tree of a workspace keeps the four folders apart, and nothing beside them', async () => {
    const tree = newTree();
    for (const name of ['home', 'outputs', 'tmp', 'workspace']) writeFileSync(join(tree.folder, name, 'x'), name);
    writeFileSync(join(tree.folder, 'other'), 'x');
    const { entries } = await store(tree, EMPTY_MANIFEST);
    expect(entries.map(({ path }) => path)).to.deep.equal([
      '/home/agent/x',
      '/mnt/session/outputs/x',
      '/tmp/x',
      '/workspace/x',
    ]);
  });

  it('a tree of a workspace counts and removes what is not kept: pipes, sockets, and names that are not UTF-8', async () => {
    const tree = newTree();
    const workspace = join(tree.folder, 'workspace');
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(workspace, 'socket'), resolve));
    mkdirSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff])]));
    symlinkSync(Buffer.from([0xfe]), join(workspace, 'link'));
    writeFileSync(join(workspace, 'kept'), '');
    const { entries, notKept } = await tree.scan(MAX_BYTES);
    server.close();
    expect(notKept).to.equal(4);
    expect(entries.map(({ path }) => path)).to.deep.equal(['/workspace/kept']);
    expect(readdirSync(workspace)).to.deep.equal(['kept']);
  });

  it('a tree of a workspace makes a file of each hard link and takes setuid bits away', async () => {
    const tree = newTree();
    const workspace = join(tree.folder, 'workspace');
    writeFileSync(join(workspace, 'a'), 'one');
    linkSync(join(workspace, 'a'), join(workspace, 'b'));
    chmodSync(join(workspace, 'a'), 0o4755);
    await store(tree, EMPTY_MANIFEST);
    writeFileSync(join(workspace, 'b'), 'two');
    expect(execFileSync('cat', [join(workspace, 'a')], { encoding: 'utf8' })).to.equal('one');
    expect(execFileSync('stat', ['-c', '%a', join(workspace, 'a')], { encoding: 'utf8' })).to.equal('755\n');
  });

  it('a tree of a workspace is over its limit by bytes, by entries, by the length of a path, and by the size of a file with holes', async () => {
    const isOver = async (fill: (workspace: string) => void, maxBytes = MAX_BYTES): Promise<boolean> => {
      const tree = newTree();
      fill(join(tree.folder, 'workspace'));
      return (await tree.scan(maxBytes)).isOver;
    };
    const limit = 100 + entryBytes({ path: '/workspace/a' });
    expect(await isOver((at) => writeFileSync(join(at, 'a'), 'x'.repeat(100)), limit)).to.equal(false);
    expect(await isOver((at) => writeFileSync(join(at, 'a'), 'x'.repeat(101)), limit)).to.equal(true);
    const linked = 100 + entryBytes({ path: '/workspace/a', target: 'x'.repeat(100) });
    expect(await isOver((at) => symlinkSync('x'.repeat(100), join(at, 'a')), linked - 100)).to.equal(false);
    expect(await isOver((at) => symlinkSync('x'.repeat(100), join(at, 'a')), linked - 101)).to.equal(true);
    expect(await isOver((at) => execFileSync('truncate', ['-s', '1G', join(at, 'a')]))).to.equal(true);
    expect(await isOver((at) => execFileSync('bash', ['-c', 'mkdir {1..20001}'], { cwd: at }))).to.equal(true);
    const deep = 'for i in {1..600}; do mkdir dd && cd dd || exit; done';
    expect(await isOver((at) => execFileSync('bash', ['-c', deep], { cwd: at }))).to.equal(true);
  });

  it('a tree of a workspace is over its limit by the length of all its paths and targets, exactly', async () => {
    const name = 'n'.repeat(200);
    // As JSON a control character takes six bytes.
    const target = '\u0001'.repeat(1000);
    const bytesOf = (path: string): number => nameBytes(path) + nameBytes(target);
    const folders = Math.floor(MAX_NAME_BYTES / bytesOf(`/workspace/0000${name}`));
    const tree = newTree();
    const root = join(tree.folder, 'workspace');
    for (let at = 0; at < folders; at += 1) symlinkSync(target, join(root, `${String(at).padStart(4, '0')}${name}`));
    const left = MAX_NAME_BYTES - folders * bytesOf(`/workspace/0000${name}`);
    const last = left - nameBytes('/workspace/z') - nameBytes('');
    const textOf = (bytes: number): string => '\u0001'.repeat(Math.floor(bytes / 6)) + 'x'.repeat(bytes % 6);
    symlinkSync(textOf(last), join(root, 'z'));
    expect((await tree.scan(MAX_BYTES)).entries.length).to.equal(folders + 1);
    rmSync(join(root, 'z'));
    symlinkSync(textOf(last + 1), join(root, 'z'));
    expect((await tree.scan(MAX_BYTES)).isOver).to.equal(true);
  });

  it('a tree of a workspace keeps links whose target has 1,024 bytes, and no longer ones', async () => {
    const tree = newTree();
    const [kept, long] = ['ä'.repeat(512), `${'ä'.repeat(512)}x`];
    symlinkSync(kept, join(tree.folder, 'workspace', 'kept'));
    symlinkSync(long, join(tree.folder, 'workspace', 'long'));
    const { entries, notKept } = await tree.scan(MAX_BYTES);
    expect(entries).to.deep.equal([{ kind: 'symlink', path: '/workspace/kept', target: kept }]);
    expect(notKept).to.equal(1);
    expect(readdirSync(join(tree.folder, 'workspace'))).to.deep.equal(['kept']);
  });

  it('a tree of a workspace leaves nothing beside its folders after a scan, and no name of its own in them before', async () => {
    const tree = newTree();
    const workspace = join(tree.folder, 'workspace');
    mkdirSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff])]), { mode: 0o000 });
    writeFileSync(join(workspace, 'a'), 'one');
    for (const name of ['b', 'c']) linkSync(join(workspace, 'a'), join(workspace, name));
    const seen = new Set<string>();
    const watcher = watch(workspace, (_, name) => name !== null && seen.add(name));
    try {
      expect((await tree.scan(MAX_BYTES)).entries.length).to.equal(3);
      // The event of the last change comes after all others.
      writeFileSync(join(workspace, 'after'), '');
      await eventually('the changes were seen', () => seen.has('after'));
    } finally {
      watcher.close();
    }
    expect([...seen].filter((name) => /[0-9a-f]{8}-/.test(name))).to.deep.equal([]);
    expect(readdirSync(tree.folder).sort()).to.deep.equal(['home', 'outputs', 'tmp', 'workspace']);
    expect(['a', 'b', 'c'].map((name) => lstatSync(join(workspace, name)).nlink)).to.deep.equal([1, 1, 1]);
  });

  it('a tree of a workspace refuses a version whose paths lead out of its folders', async () => {
    const entry = { kind: 'directory', mode: 0o755 } as const;
    for (const path of ['/workspace/../../../x', '/etc/x', '/workspace']) {
      const failure = await restored({ ...EMPTY_MANIFEST, entries: [{ ...entry, path }] }).catch(
        (error: unknown) => error,
      );
      expect((failure as Error).message).to.equal('a workspace names a path outside of its folders');
    }
  });

  it('a tree of a workspace reads only files that may have changed', async () => {
    const tree = newTree();
    const file = join(tree.folder, 'workspace', 'a');
    writeFileSync(file, 'one');
    utimesSync(file, 1, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = await tree.scan(MAX_BYTES);
    // The same size and the same time as before: only the time of the change tells.
    writeFileSync(file, 'two');
    utimesSync(file, 1, 1);
    const after = await tree.scan(MAX_BYTES);
    expect((await diffEntries(before.entries, after.entries)).modified).to.deep.equal(['/workspace/a']);
  });
});
