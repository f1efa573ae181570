import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { WorkspaceArchive } from '../../../src/workspaces/archive.js';
import { entriesBelow, findEntry, hasFolder } from '../../../src/workspaces/browse.js';
import { EMPTY_MANIFEST, type Manifest } from '../../../src/workspaces/manifest.js';
import { storeContents } from '../../../src/workspaces/packs.js';
import { readZip } from '../../support/read-zip.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';
import { contentOf, entriesOf, TREE_TIME, type TestTree } from '../../support/workspaces.js';

const MIB = 1024 * 1024;

describe('the archive of a workspace', () => {
  let test: TestStorage;
  before(() => (test = openTestStorage()));
  after(() => test.remove());

  const store = async (tree: TestTree, base: Manifest = EMPTY_MANIFEST): Promise<Manifest> => {
    const manifest = { entries: entriesOf(tree), packs: [], delivered: null };
    return (
      await storeContents(test.storage, 'ses_1', { manifest, base }, (path) => Readable.from([contentOf(tree[path]!)!]))
    ).manifest;
  };
  const archiveOf = async (manifest: Manifest, folder: string): Promise<Buffer> => {
    const archive = await WorkspaceArchive.of(manifest, folder);
    const chunks: Buffer[] = [];
    for await (const chunk of archive.chunks(test.storage)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    expect(bytes.length).to.equal(archive.size);
    return bytes;
  };

  it('the archive of a workspace has its files and folders with modes, times and contents of every size, but no links', async () => {
    const large = randomBytes(5 * MIB + 1);
    const first: TestTree = {
      '/workspace/a': { folder: 0o500 },
      '/workspace/a/run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
      '/workspace/a/same.sh': '#!/bin/sh\n',
      '/workspace/empty': '',
      '/workspace/exactly': Buffer.alloc(4 * MIB, 7),
      '/workspace/large': large,
      '/workspace/large copy': large,
      '/workspace/link': { link: '../../etc/passwd' },
      '/workspace/Übung 😀': 'text',
    };
    // A second pack, and a file of another folder.
    const second: TestTree = { ...first, '/workspace/b': 'second', '/tmp/x': 'x' };
    const found = await readZip(await archiveOf(await store(second, await store(first)), '/workspace'));
    expect(Object.keys(found).toSorted()).to.deep.equal(
      [...['a/', 'a/run.sh', 'a/same.sh', 'b', 'empty', 'exactly', 'large', 'large copy', 'Übung 😀']].toSorted(),
    );
    for (const [name, { content, time }] of Object.entries(found)) {
      if (content === null) continue;
      expect(content.equals(contentOf(second[`/workspace/${name}`]!)!), name).to.equal(true);
      expect(time.getTime()).to.equal(TREE_TIME);
    }
    expect([found['a/']!.mode, found['a/run.sh']!.mode, found['b']!.mode]).to.deep.equal([0o40500, 0o100755, 0o100644]);
  });

  it('the archive of a workspace has no name that leads out of its folder', async () => {
    const manifest = await store({ '/workspace/..\\..\\evil': 'x', '/workspace/C:\\evil': 'x', '/workspace/...': 'x' });
    const names = Object.keys(await readZip(await archiveOf(manifest, '/workspace')));
    expect(names.toSorted()).to.deep.equal(['..%5C..%5Cevil', '...', 'C%3A%5Cevil']);
  });

  it('the archive of a workspace has a name of its own for each entry, also for one that looks encoded already', async () => {
    const parts = ['\\', '%5C', '%255C', '%25255C', '%', '%25', '%3A', '%253A', 'a', '25', '5C'];
    const names = parts.flatMap((one) => parts.map((other) => `C${one}${other}`));
    const drives = ['C:', 'C%3A', 'C%253A', 'C%25253A', 'c:', '50% off', '100%25'];
    const tree = Object.fromEntries([...new Set([...names, ...drives])].map((name) => [`/workspace/${name}`, name]));
    const found = await readZip(await archiveOf(await store(tree), '/workspace'));
    expect(Object.keys(found)).to.have.length(Object.keys(tree).length);
    // Decoded, each is the name that it had.
    for (const [name, { content }] of Object.entries(found)) {
      const decoded = name
        .replace(/^([a-z])%3A/i, '$1:')
        .replace(/^([a-z])%25(?=(?:25)*3A)/i, '$1%')
        .replaceAll('%5C', '\\')
        .replaceAll(/%25(?=(?:25)*5C)/g, '%');
      expect(decoded).to.equal(String(content));
    }
    expect(Object.keys(found)).to.include.members(['50% off', '100%25', 'C%255C%', 'C%3A']);
  });

  it('the archive of a workspace is an archive too where the folder is empty', async () => {
    expect(await readZip(await archiveOf(EMPTY_MANIFEST, '/workspace'))).to.deep.equal({});
  });

  it('the archive of a workspace fails where a content ends too early, instead of ending as if it were whole', async () => {
    const manifest = await store({ '/workspace/a': 'some bytes' });
    await test.storage.put(manifest.packs[0]!.key, Buffer.from('some'), { contentType: 'text/plain' });
    expect(await archiveOf(manifest, '/workspace').catch((error: Error) => error.message)).to.contain('is shorter');
  });
});

describe('the entries of a workspace', () => {
  const manifest = {
    ...EMPTY_MANIFEST,
    entries: entriesOf({
      '/home/agent/.bashrc': 'x',
      '/tmp/t': 'x',
      '/workspace/a': { folder: 0o755 },
      '/workspace/a-b': 'x',
      '/workspace/a/b': 'x',
      '/workspace/b': { link: 'a' },
      '/workspace/\uffee': 'x',
      '/workspace/😀': 'x',
    }),
  };
  const pathsBelow = (folder: string, after?: string, limit?: number): string[] =>
    entriesBelow(manifest, folder, after, limit).map(({ path }) => path);

  it('the entries of a workspace below a folder come in the order of their bytes, and from any path on', () => {
    const all = ['a', 'a-b', 'a/b', 'b', '\uffee', '😀'].map((name) => `/workspace/${name}`);
    expect(pathsBelow('/workspace')).to.deep.equal(all);
    expect(pathsBelow('/workspace/a')).to.deep.equal(['/workspace/a/b']);
    for (let at = 0; at < all.length; at += 1) {
      expect(pathsBelow('/workspace', all[at])).to.deep.equal(all.slice(at + 1));
      expect(pathsBelow('/workspace', all[at], 2)).to.deep.equal(all.slice(at + 1, at + 3));
    }
    // The entry that a page ended with is gone.
    expect(pathsBelow('/workspace', '/workspace/a/aa')).to.deep.equal(all.slice(2));
  });

  it('the entries of a workspace below its root have the folders that every workspace has', () => {
    expect(pathsBelow('/')).to.deep.equal([
      ...['/home', '/home/agent', '/home/agent/.bashrc', '/mnt', '/mnt/session', '/mnt/session/outputs'],
      ...['/tmp', '/tmp/t', '/workspace'],
      ...pathsBelow('/workspace'),
    ]);
    expect(pathsBelow('/mnt')).to.deep.equal(['/mnt/session', '/mnt/session/outputs']);
    const paged: string[] = [];
    while (paged.length < pathsBelow('/').length) paged.push(...pathsBelow('/', paged.at(-1) ?? '', 2));
    expect(paged).to.deep.equal(pathsBelow('/'));
  });

  it('the entries of a workspace are found by the path as it is written', () => {
    expect(findEntry(manifest, '/workspace/a/b')).to.include({ kind: 'file' });
    for (const path of ['/workspace/b/b', '/workspace/a/', '/workspace//a', '/workspace/./a', '/workspace/c', '/'])
      expect(findEntry(manifest, path), path).to.equal(null);
    const folders = ['/', '/home', '/home/agent', '/mnt/session/outputs', '/tmp', '/workspace', '/workspace/a'];
    for (const path of folders) expect(hasFolder(manifest, path), path).to.equal(true);
    for (const path of ['/workspace/', '/workspace/b', '/workspace/a-b', '/etc', '/mnt/skills', ''])
      expect(hasFolder(manifest, path), path).to.equal(false);
  });
});
