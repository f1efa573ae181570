import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UsageError } from '../../ops/command.js';
import { runMaintenance } from '../../ops/maintenance.js';
import { newStorageKey } from '../../src/files/storage.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { openDataSource } from '../../src/db/data-source.js';
import { openTestStorage, type TestStorage } from '../support/storage.js';
import { pathToFileURL } from 'node:url';

const run = promisify(execFile);

describe('npm run maintenance', () => {
  let database: TestDatabase;
  let files: TestStorage;
  before(async () => {
    database = await createTestDatabase();
    files = openTestStorage();
  });
  after(async () => {
    await database.drop();
    files.remove();
  });

  it('npm run maintenance cleans and prints what it did', async () => {
    await files.storage.put(newStorageKey('files', 'proj_1'), Buffer.from('x'), { contentType: 'text/plain' });
    const db = await openDataSource(database.url, 1, 'test');
    await db.query(`INSERT INTO projects (id, name) VALUES ('proj_1', 'p')`);
    await db.destroy();
    const args = ['--import', 'tsx', 'ops/maintenance.ts', 'storage', '--older-than-hours', '0', '--limit', '1'];
    const { stdout } = await run(process.execPath, args, {
      env: { ...process.env, DATABASE_URL: database.url, STORAGE_URL: pathToFileURL(files.folder).href },
    });
    expect(JSON.parse(stdout)).to.deep.equal({ finishedDeletions: 0, removedObjects: 1, removedRows: 0 });
  });

  it('npm run maintenance prints its usage', async () => {
    for (const args of [[], ['other'], ['storage', '--limit', '0'], ['storage', '--older-than-hours', 'x']]) {
      const error = await runMaintenance(args, database.url, files.storage).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(UsageError);
    }
  });
});
