import { expect } from 'chai';
import type { Database } from '../../../src/db/db.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { cleanStorage, type CleanPosition } from '../../../src/files/maintenance.js';
import { adoptStorage, claimStorage } from '../../../src/files/ownership.js';
import { newStorageKey, storageKey } from '../../../src/files/storage.js';
import { insertFile, type FileRow } from '../../../src/files/store.js';
import { newId } from '../../../src/platform/ids.js';
import { createTestDatabase } from '../../support/postgres.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';
import { useDatabase, usePool } from '../../support/use.js';

const PROJECT = 'proj_1';
const TEXT = { contentType: 'text/plain' };
const ALL = { olderThanSeconds: -1, limit: 1000 };

describe('cleanStorage', () => {
  let files: TestStorage;
  const database = useDatabase();
  const db = usePool(database, 4);
  before(() => db.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [PROJECT]));
  beforeEach(async () => {
    files = openTestStorage();
    await db.query('DELETE FROM files');
    await db.query('DELETE FROM skills');
  });
  afterEach(() => files.remove());

  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of files.storage.list('')) if (key !== 'installation') found.push(key);
    return found;
  };
  const put = async (key: string): Promise<string> => {
    await files.storage.put(key, Buffer.from('x'), TEXT);
    return key;
  };
  const row = (key: string): Promise<FileRow> =>
    insertFile(db, {
      id: newId('file'),
      project_id: PROJECT,
      filename: 'a.txt',
      mime_type: 'text/plain',
      size_bytes: 1,
      origin: 'UPLOAD',
      session_id: null,
      storage_key: key,
    });
  const rows = async (): Promise<string[]> =>
    (await db.query<FileRow[]>('SELECT * FROM files ORDER BY id')).map(({ id }) => id);

  it('cleanStorage keeps rows and objects that belong together', async () => {
    const file = await row(await put(newStorageKey('files', PROJECT)));
    const skill = await put(newStorageKey('skills', PROJECT));
    await db.query(
      `INSERT INTO skills (id, project_id, name, description, size_bytes, storage_key) VALUES ('skill_1', $1, 'a', '', 1, $2)`,
      [PROJECT, skill],
    );
    await db.query(
      `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
       VALUES ('ses_1', $1, 'm', true, '{}', '{}')`,
      [PROJECT],
    );
    await db.query(
      `INSERT INTO turns (id, session_id, project_id, number, state)
       VALUES ('turn_1', 'ses_1', $1, 1, 'completed')`,
      [PROJECT],
    );
    const result = await put(storageKey('results', 'turn_1', '0-0'));
    const foreign = await put('somebody-else/a');
    expect(await cleanStorage(db, files.storage, ALL)).to.deep.equal({
      finishedDeletions: 0,
      removedObjects: 0,
      removedRows: 0,
      next: null,
    });
    expect(await keys()).to.deep.equal([file.storage_key, result, skill, foreign].sort());
    expect(await rows()).to.deep.equal([file.id]);
  });

  it('cleanStorage removes objects without an owner once they are old enough', async () => {
    for (const key of [
      newStorageKey('files', PROJECT),
      newStorageKey('skills', PROJECT),
      storageKey('results', 'turn_gone', '0-0'),
      'tmp/left-by-a-crash',
    ]) {
      await put(key);
    }
    expect((await cleanStorage(db, files.storage, { ...ALL, olderThanSeconds: 60 })).removedObjects).to.equal(0);
    expect((await cleanStorage(db, files.storage, ALL)).removedObjects).to.equal(4);
    expect(await keys()).to.deep.equal([]);
  });

  it('cleanStorage removes the archive of a deleted skill', async () => {
    const key = await put(newStorageKey('skills', PROJECT));
    await db.query(
      `INSERT INTO skills (id, project_id, name, description, size_bytes, storage_key, deleted_at)
       VALUES ('skill_2', $1, 'b', '', 1, $2, now())`,
      [PROJECT, key],
    );
    expect((await cleanStorage(db, files.storage, ALL)).removedObjects).to.equal(1);
  });

  it('cleanStorage finishes a deletion that stopped half-way', async () => {
    const file = await row(await put(newStorageKey('files', PROJECT)));
    await db.query('UPDATE files SET deleted_at = now() WHERE id = $1', [file.id]);
    expect((await cleanStorage(db, files.storage, ALL)).finishedDeletions).to.equal(1);
    expect([await keys(), await rows()]).to.deep.equal([[], []]);
  });

  it('cleanStorage deletes a file whose object is lost', async () => {
    const kept = await row(await put(newStorageKey('files', PROJECT)));
    await row(newStorageKey('files', PROJECT));
    expect((await cleanStorage(db, files.storage, ALL)).removedRows).to.equal(1);
    expect(await rows()).to.deep.equal([kept.id]);
  });

  it('cleanStorage fails if nearly all objects are missing: the storage is probably wrong', async () => {
    for (let count = 0; count < 12; count += 1) await row(newStorageKey('files', PROJECT));
    const error = await cleanStorage(db, files.storage, ALL).catch((thrown: Error) => thrown);
    expect((error as Error).message).to.contain('12 of 12 files');
    expect(await rows()).to.have.length(12);
    expect((await cleanStorage(db, files.storage, { ...ALL, removeMissing: true })).removedRows).to.equal(12);
  });

  it('cleanStorage removes nothing from the storage of another installation', async () => {
    const other = await createTestDatabase();
    const otherDb = await openDataSource(other.url, 2, 'test');
    try {
      await otherDb.query('UPDATE installation SET id = gen_random_uuid()');
      await otherDb.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [PROJECT]);
      const key = await put(newStorageKey('files', PROJECT));
      await claimStorage(db, files.storage);
      const clean = (): Promise<unknown> =>
        cleanStorage(otherDb, files.storage, ALL).catch((thrown: Error) => thrown.message);
      expect(await clean()).to.contain('another installation');
      // As a dump of this database that was restored elsewhere.
      const [{ id }] = await db.query<[{ id: string }]>('SELECT id FROM installation');
      await otherDb.query('UPDATE installation SET id = $1', [id]);
      expect(await clean()).to.contain('adopt-storage');
      expect(await keys()).to.deep.equal([key]);
      await adoptStorage(otherDb, files.storage);
      expect(await clean()).to.include({ removedObjects: 1 });
    } finally {
      await otherDb.destroy();
      await other.drop();
    }
  });

  it('cleanStorage fails if the database has no projects: it is probably wrong', async () => {
    const key = await put(newStorageKey('files', PROJECT));
    const error = await db
      .transaction(async (tx) => {
        await tx.query('TRUNCATE projects CASCADE');
        await cleanStorage(tx as unknown as Database, files.storage, ALL);
      })
      .catch((thrown: Error) => thrown);
    expect((error as Error).message).to.contain('no projects');
    expect(await keys()).to.deep.equal([key]);
  });

  it('cleanStorage works in bounded batches, and continues where it stopped', async () => {
    for (let count = 0; count < 5; count += 1) await put(newStorageKey('files', PROJECT));
    for (let count = 0; count < 3; count += 1) await row(await put(newStorageKey('files', PROJECT)));
    let from: CleanPosition | null = null;
    const removed: number[] = [];
    do {
      const { next, removedObjects } = await cleanStorage(db, files.storage, { ...ALL, limit: 2, from });
      removed.push(removedObjects);
      from = next;
    } while (from !== null);
    expect(removed.reduce((sum, count) => sum + count)).to.equal(5);
    expect(removed.every((count) => count <= 2)).to.equal(true);
    expect(await keys()).to.have.length(3);
  });
});
