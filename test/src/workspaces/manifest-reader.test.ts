import { expect } from 'chai';
import type { Storage } from '../../../src/files/storage.js';
import { ManifestCache } from '../../../src/workspaces/manifest-cache.js';
import { ManifestReader } from '../../../src/workspaces/manifest-reader.js';
import { EMPTY_MANIFEST, type Manifest } from '../../../src/workspaces/manifest.js';
import { storeManifest } from '../../../src/workspaces/store.js';
import { eventually } from '../../support/eventually.js';
import { openTestStorage, type TestStorage } from '../../support/storage.js';

describe('reading manifests', () => {
  let test: TestStorage;
  before(() => (test = openTestStorage()));
  after(() => test.remove());

  /** A storage whose reads wait, and the keys that are being read. */
  const heldStorage = () => {
    const held: { key: string; go: () => void }[] = [];
    const storage: Storage = {
      ...test.storage,
      async read(key, ...rest) {
        await new Promise<void>((resolve) => held.push({ key, go: resolve }));
        return test.storage.read(key, ...rest);
      },
    };
    return { storage, held };
  };
  const keysOf = (count: number): Promise<string[]> =>
    Promise.all(
      Array.from(
        { length: count },
        async () => (await storeManifest(test.storage, 'ses_1', EMPTY_MANIFEST)).manifestKey,
      ),
    );

  it('reading manifests reads each once, for all who ask at the same time and for those who come later', async () => {
    const { storage, held } = heldStorage();
    const reader = new ManifestReader(storage);
    const [key] = await keysOf(1);
    const all = Promise.all(Array.from({ length: 10 }, (_, index) => reader.read(`proj_${index}`, key!)));
    await eventually('the read', () => held.length === 1);
    held[0]!.go();
    expect(await all).to.deep.equal(Array(10).fill(EMPTY_MANIFEST));
    expect(await reader.read('proj_1', key!)).to.deep.equal(EMPTY_MANIFEST);
    expect(held).to.have.length(1);
    expect(await reader.read('proj_1', null)).to.deep.equal(EMPTY_MANIFEST);
  });

  it('reading manifests reads two of a project and four in all at once, and a failed one again', async () => {
    const { storage, held } = heldStorage();
    const reader = new ManifestReader(storage);
    const [keys, others] = [await keysOf(6), await keysOf(6)];
    const all = [
      ...keys.map((key) => reader.read('proj_1', key)),
      ...others.map((key, index) => reader.read(`proj_${index + 2}`, key)),
    ];
    const ended = Promise.all(all);
    await eventually('the first reads', () => held.length === 4);
    // Two of the first project, and two others do not wait for it.
    expect(held.filter(({ key }) => keys.includes(key))).to.have.length(2);
    let done = 0;
    while (done < 12) {
      await eventually('the next read', () => held.length > done);
      expect(held.length - done).to.be.at.most(4);
      held[done]!.go();
      done += 1;
    }
    await ended;

    const gone = reader.read('proj_1', 'workspaces/ses_1/none').catch((error: Error) => error.name);
    await eventually('the read', () => held.length === 13);
    held[12]!.go();
    expect(await gone).to.equal('ObjectMissingError');
    const [key] = await keysOf(1);
    const later = reader.read('proj_1', key!);
    await eventually('the next read', () => held.length === 14);
    held[13]!.go();
    expect(await later).to.deep.equal(EMPTY_MANIFEST);
  });

  it('reading manifests keeps those that were read last, of at most 32 MiB', async () => {
    const cache = new ManifestCache();
    const large: Manifest = {
      ...EMPTY_MANIFEST,
      entries: Array.from({ length: 20_000 }, (_, index) => ({
        kind: 'directory',
        path: `/workspace/${String(index).padStart(100, '0')}`,
        mode: 0o755,
      })),
    };
    const loaded: string[] = [];
    const read = (key: string): Promise<Manifest> =>
      cache.read(key, () => {
        loaded.push(key);
        return Promise.resolve(large);
      });
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await read(key);
    // Two of these fit; `b` was read before `a` when `c` came.
    expect(loaded).to.deep.equal(['a', 'b', 'c', 'b']);
    cache.keep('a', EMPTY_MANIFEST);
    for (const key of ['a', 'b', 'a']) await read(key);
    expect(loaded).to.deep.equal(['a', 'b', 'c', 'b']);
  });
});
