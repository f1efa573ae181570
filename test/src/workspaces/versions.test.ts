import { createHash } from 'node:crypto';
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { cleanStorage } from '../../../src/files/maintenance.js';
import { softDeleteSession } from '../../../src/sessions/store.js';
import { transaction } from '../../../src/db/transaction.js';
import {
  comparePaths,
  diffEntries,
  EMPTY_MANIFEST,
  type FileEntry,
  type Manifest,
} from '../../../src/workspaces/manifest.js';
import { contentsOf, PackReader, storeContents } from '../../../src/workspaces/packs.js';
import {
  commitVersion,
  findSessionWorkspace,
  readManifest,
  storeManifest,
  type Workspace,
} from '../../../src/workspaces/store.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';
import { useDatabase, usePool } from '../../support/use.js';

const SESSION = 'ses_1';
const PROJECT = 'proj_1';

const fileOf = (path: string, content: string): FileEntry => ({
  kind: 'file',
  path,
  mode: 0o644,
  size: Buffer.byteLength(content),
  mtime: 0,
  sha256: createHash('sha256').update(content).digest('hex'),
  at: null,
});

describe('versions of a workspace', () => {
  let test: TestStorage;
  beforeEach(() => (test = openTestStorage()));
  afterEach(() => test.remove());

  const write = (files: Record<string, string>, base: Manifest = EMPTY_MANIFEST) => {
    const entries = Object.entries(files).map(([path, content]) => fileOf(path, content));
    const manifest = { entries: entries.sort((a, b) => comparePaths(a.path, b.path)), packs: [], delivered: null };
    return storeContents(test.storage, SESSION, { manifest, base }, (path) =>
      Readable.from([Buffer.from(files[path]!)]),
    );
  };
  const read = async (manifest: Manifest): Promise<Record<string, string>> => {
    const reader = new PackReader(test.storage);
    const found: Record<string, string> = {};
    for (const content of contentsOf(manifest)) {
      const bytes = Buffer.concat((await Readable.from(reader.read(content)).toArray()) as Buffer[]);
      for (const { path } of content.files) found[path] = bytes.toString();
    }
    await reader.close();
    return found;
  };

  it('versions of a workspace store each content once, be it under another name or from another time', async () => {
    const first = await write({ '/workspace/a': 'same', '/workspace/b': 'same', '/workspace/c': '' });
    expect(first.written).to.equal(4);
    const second = await write({ '/workspace/moved': 'same', '/workspace/new': 'more' }, first.manifest);
    expect(second.written).to.equal(4);
    expect(await read(second.manifest)).to.deep.equal({ '/workspace/moved': 'same', '/workspace/new': 'more' });
  });

  it('versions of a workspace are read from at most 32 packs, of whose bytes at least half are used', async () => {
    const files: Record<string, string> = { '/workspace/large': 'x'.repeat(50_000) };
    let { manifest } = await write(files);
    for (let round = 0; round < 100; round += 1) {
      files[`/workspace/${round}`] = `content ${round}`;
      if (round === 60) files['/workspace/large'] = 'small now';
      ({ manifest } = await write(files, manifest));
      const stored = manifest.packs.reduce((sum, { size }) => sum + size, 0);
      const used = contentsOf(manifest).reduce((sum, { size }) => sum + size, 0);
      expect(manifest.packs.length).to.be.at.most(32);
      expect(used * 2).to.be.at.least(stored);
    }
    expect(await read(manifest)).to.deep.equal(files);
  });

  it('versions of a workspace refuse a content that is not what its tree says', async () => {
    const manifest = { entries: [fileOf('/workspace/a', 'before')], packs: [], delivered: null };
    const stored = storeContents(test.storage, SESSION, { manifest, base: EMPTY_MANIFEST }, () =>
      Readable.from([Buffer.from('behind')]),
    );
    expect(await stored.catch((error: Error) => error.message)).to.equal('a file changed while it was stored');
  });

  it('versions of a workspace name the paths that differ, in the order of their bytes', async () => {
    const paths = ['/workspace/a', '/workspace/a-b', '/workspace/a/b', '/workspace/\uffee', '/workspace/😀'];
    expect(paths.toReversed().sort(comparePaths)).to.deep.equal(paths);
    const before = [fileOf('/workspace/a', '1'), fileOf('/workspace/b', '1'), fileOf('/workspace/c', '1')];
    const after = [fileOf('/workspace/a', '2'), fileOf('/workspace/b', '1'), fileOf('/workspace/d', '1')];
    expect(await diffEntries(before, after)).to.deep.equal({
      created: ['/workspace/d'],
      modified: ['/workspace/a'],
      deleted: ['/workspace/c'],
    });
  });

  describe('rows', () => {
    const database = useDatabase();
    const db = usePool(database, 2);
    beforeEach(async () => {
      await db.query(
        'DELETE FROM workspaces; DELETE FROM replaced_objects; DELETE FROM sessions; DELETE FROM configurations; DELETE FROM projects; DELETE FROM project_storage',
      );
      await db.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [PROJECT]);
      await db.query(
        `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
         VALUES ($2, $1, 'm', true, '{}', '{}')`,
        [PROJECT, SESSION],
      );
      await db.query(
        `INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count)
         VALUES ($2, $1, 0, '{}', '/workspace', 0, 0)`,
        [PROJECT, SESSION],
      );
    });

    const newest = async (): Promise<Workspace> => (await findSessionWorkspace(db, PROJECT, SESSION))!.workspace!;
    const commit = async (
      base: Workspace,
      manifest: Manifest | null,
      cwd = '/workspace',
      changesTree = true,
      turnNumber = 0,
    ): Promise<boolean> => {
      const next = manifest && {
        manifest,
        changesTree,
        ...(await storeManifest(test.storage, SESSION, manifest)),
      };
      return transaction(db, (tx) => commitVersion(tx, { sessionId: SESSION, turnNumber, base, cwd, next }));
    };
    /** Of the manifest that is stored for the newest version. */
    const manifestBytes = async (): Promise<number> => test.storage.size((await newest()).manifestKey!);
    const storage = async (): Promise<number> => {
      const [row] = await db.query<{ bytes: number }[]>('SELECT bytes FROM project_storage');
      return row?.bytes ?? 0;
    };

    it('versions of a workspace in the database follow one another: of two that began with the same version, one is stored', async () => {
      const { manifest } = await write({ '/workspace/a': 'one' });
      const empty = await newest();
      expect(await commit(empty, manifest)).to.equal(true);
      const first = await newest();
      expect(first).to.include({ version: 1, cwd: '/workspace' });
      expect((await readManifest(test.storage, first.manifestKey)).entries).to.deep.equal(manifest.entries);

      expect(await commit(empty, manifest)).to.equal(false);
      const both = await Promise.all([commit(first, manifest, '/tmp'), commit(first, manifest, '/workspace/x')]);
      expect(both.toSorted()).to.deep.equal([false, true]);
      expect((await newest()).version).to.equal(2);
    });

    it('versions of a workspace in the database keep their number where only the working directory, or what was delivered, changes', async () => {
      expect(await commit(await newest(), null, '/tmp')).to.equal(true);
      const moved = await newest();
      expect(moved).to.deep.equal({ version: 0, manifestKey: null, cwd: '/tmp' });
      const { manifest } = await write({ '/workspace/a': 'one' });
      expect(await commit(moved, manifest, '/tmp')).to.equal(true);
      const first = await newest();
      expect(
        await commit(first, { ...manifest, delivered: { turnId: 'turn_1', contents: {} } }, '/tmp', false),
      ).to.equal(true);
      const marked = await newest();
      expect(marked).to.include({ version: 1 }).and.not.include({ manifestKey: first.manifestKey });
      expect(await commit(marked, null, '/workspace')).to.equal(true);
      expect(await newest()).to.deep.equal({ ...marked, cwd: '/workspace' });
    });

    it('versions of a workspace in the database count in the storage of the project, until their session is deleted; then maintenance removes their objects', async () => {
      const { manifest } = await write({ '/workspace/a': 'twelve bytes', '/workspace/b': 'twelve bytes' });
      await commit(await newest(), manifest);
      expect(await storage()).to.equal(24 + (await manifestBytes()));
      const smaller = await write({ '/workspace/a': 'twelve bytes' }, manifest);
      await commit(await newest(), smaller.manifest);
      expect(await storage()).to.equal(12 + (await manifestBytes()));

      const clean = () => cleanStorage(db, test.storage, { olderThanSeconds: -1, limit: 1000 });
      // The first manifest.
      expect(await clean()).to.include({ removedObjects: 1 });
      expect(await read(smaller.manifest)).to.deep.equal({ '/workspace/a': 'twelve bytes' });
      const last = await newest();
      await transaction(db, (tx) => softDeleteSession(tx, SESSION));
      expect(await storage()).to.equal(0);
      expect(await findSessionWorkspace(db, PROJECT, SESSION)).to.equal(null);
      expect(await commit(last, manifest)).to.equal(false);
      // The manifest and the pack of the session, and the manifest that came too late.
      expect(await clean()).to.include({ removedObjects: 3 });
    });

    it('versions of a workspace in the database keep their objects for a while after the next one, however old these are', async () => {
      const clean = () => cleanStorage(db, test.storage, { olderThanSeconds: 3600, limit: 1000 });
      const first = await write({ '/workspace/a': 'first' });
      await commit(await newest(), first.manifest);
      const { manifestKey } = await newest();
      const age = () => {
        for (const name of readdirSync(join(test.folder, 'workspaces', SESSION)))
          utimesSync(join(test.folder, 'workspaces', SESSION, name), 1, 1);
      };
      age();
      await commit(await newest(), (await write({ '/workspace/a': 'second' }, first.manifest)).manifest);
      expect(await clean()).to.include({ removedObjects: 0 });
      // As a download that began before reads it, and a database that was saved before.
      expect(await read(await readManifest(test.storage, manifestKey))).to.deep.equal({ '/workspace/a': 'first' });
      age();
      await transaction(db, (tx) => softDeleteSession(tx, SESSION));
      expect(await clean()).to.include({ removedObjects: 0 });
      await db.query(`UPDATE replaced_objects SET replaced_at = replaced_at - interval '2 hours'`);
      expect(await clean()).to.include({ removedObjects: 4 });
      expect(await db.query('SELECT FROM replaced_objects')).to.deep.equal([]);
    });
  });
});
