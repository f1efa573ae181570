import { expect } from 'chai';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ServiceError } from '../../../src/platform/errors.js';
import { newStorageKey, ObjectMissingError, storageKey } from '../../../src/files/storage.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';

const TEXT = { contentType: 'text/plain' };

describe('local storage', () => {
  let test: TestStorage;
  beforeEach(() => (test = openTestStorage()));
  afterEach(() => test.remove());

  const keys = async (prefix: string, after?: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of test.storage.list(prefix, after)) found.push(key);
    return found;
  };
  const refusal = async (work: Promise<unknown>): Promise<ServiceError> =>
    work.then(
      () => expect.fail('it did not fail'),
      (error: unknown) => error as ServiceError,
    );

  it('local storage returns the stored bytes, whole or in parts', async () => {
    const { storage } = test;
    expect(await storage.put('files/p/a', Readable.from([Buffer.from('01234'), Buffer.from('56789')]), TEXT)).to.equal(
      10,
    );
    expect((await storage.read('files/p/a', 100)).toString()).to.equal('0123456789');
    expect((await storage.read('files/p/a', 4, 3)).toString()).to.equal('3456');
    expect((await storage.read('files/p/a', 4, 20)).length).to.equal(0);
    const stream = await storage.open('files/p/a', { start: 2, end: 4 });
    expect(Buffer.concat(await stream.toArray()).toString()).to.equal('234');
    expect(await storage.size('files/p/a')).to.equal(10);
  });

  it('local storage makes files and folders for its own user alone, whatever the umask', async () => {
    const umask = process.umask(0);
    try {
      await test.storage.put('files/p/a', Buffer.from('secret'), TEXT);
    } finally {
      process.umask(umask);
    }
    const modeOf = async (path: string): Promise<string> =>
      ((await stat(join(test.folder, path))).mode & 0o777).toString(8);
    expect(await Promise.all(['files', 'files/p', 'tmp', 'files/p/a'].map(modeOf))).to.deep.equal([
      '700',
      '700',
      '700',
      '600',
    ]);
  });

  it('local storage replaces an object, and deletes one twice', async () => {
    const { storage } = test;
    await storage.put('files/p/a', Buffer.from('old'), TEXT);
    await storage.put('files/p/a', Buffer.from('new content'), TEXT);
    expect((await storage.read('files/p/a', 100)).toString()).to.equal('new content');
    await storage.delete('files/p/a');
    await storage.delete('files/p/a');
    for (const ask of [
      () => storage.open('files/p/a'),
      () => storage.read('files/p/a', 1),
      () => storage.size('files/p/a'),
    ]) {
      expect(await refusal(ask())).to.be.instanceOf(ObjectMissingError);
    }
  });

  it('local storage leaves no object if the source breaks off', async () => {
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('first half');
        throw new Error('the source is broken');
      })(),
    );
    const error = await refusal(test.storage.put('files/p/a', broken, TEXT));
    expect([error.type, error.status]).to.deep.equal(['storage_error', 502]);
    const entries = await readdir(test.folder, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile())).to.deep.equal([]);
  });

  it('local storage lists in the order of keys, from any place on', async () => {
    const all = ['files/p-1/b', 'files/p/a', 'files/p/c', 'files/p0/a', 'results/t/1', 'skills/p/a'];
    for (const key of [...all].reverse()) await test.storage.put(key, Buffer.from(key), TEXT);
    expect(await keys('')).to.deep.equal(all);
    expect(await keys('files/p/')).to.deep.equal(['files/p/a', 'files/p/c']);
    expect(await keys('res')).to.deep.equal(['results/t/1']);
    for (const [index, key] of all.entries()) expect(await keys('', key)).to.deep.equal(all.slice(index + 1));
  });

  it('local storage takes no key that is not its own', async () => {
    for (const key of ['../a', 'files/../../a', '/etc/passwd', 'files//a', 'files/A', 'files/a.b', 'files/a\0', '']) {
      expect(await refusal((async () => test.storage.read(key, 1))()), key).to.be.instanceOf(RangeError);
    }
    expect(() => storageKey('files', '..', 'a')).to.throw(RangeError);
    expect(newStorageKey('files', 'proj_1')).to.match(/^files\/proj_1\/[0-9a-z]{26}$/);
  });

  it('local storage reports a failed write', async () => {
    await test.storage.check();
    await test.storage.put('files/p/a', Buffer.from('x'), TEXT);
    const error = await refusal(test.storage.put('files/p/a/below-a-file', Buffer.from('x'), TEXT));
    expect(error.type).to.equal('storage_error');
  });
});
