import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  decodeManifest,
  encodeManifest,
  EMPTY_MANIFEST,
  type Manifest,
  type TreeEntry,
} from '../../../src/workspaces/manifest.js';

/** Texts that look like other parts of a manifest. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('],["f",', '"', '\\', '\\"', ']', ',"entries":[', '],"delivered":[', '\u0000\n', '😀'.repeat(300)),
);
const entry: fc.Arbitrary<TreeEntry> = fc.oneof(
  fc.record({ kind: fc.constant('directory' as const), path: text, mode: fc.integer({ min: 0, max: 0o777 }) }),
  fc.record({ kind: fc.constant('symlink' as const), path: text, target: text }),
  fc.record(
    {
      kind: fc.constant('file' as const),
      path: text,
      mode: fc.integer({ min: 0, max: 0o777 }),
      size: fc.nat(),
      mtime: fc.integer(),
      sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
      at: fc.option(fc.record({ pack: fc.constantFrom('p/1', 'p/2'), offset: fc.nat() })),
      isWritten: fc.constant(true as const),
    },
    { requiredKeys: ['kind', 'path', 'mode', 'size', 'mtime', 'sha256', 'at'] },
  ),
);
const manifests: fc.Arbitrary<Manifest> = fc.record({
  entries: fc.array(entry, { maxLength: 300, size: 'max' }),
  packs: fc.constant([
    { key: 'p/1', size: 7 },
    { key: 'p/2', size: 8 },
  ]),
  delivered: fc.option(fc.record({ turnId: text, contents: fc.dictionary(text, text) })),
});

/** The stored form. */
function jsonOf({ packs, entries, delivered }: Manifest): string {
  return JSON.stringify({
    packs: packs.map(({ key, size }) => [key, size]),
    entries: entries.map((one) => {
      if (one.kind === 'directory') return ['d', one.path, one.mode];
      if (one.kind === 'symlink') return ['l', one.path, one.target];
      const { path, mode, size, mtime, sha256, at } = one;
      return ['f', path, mode, size, mtime, sha256, packs.findIndex(({ key }) => key === at?.pack), at?.offset ?? 0];
    }),
    written: entries.flatMap((one, index) => (one.kind === 'file' && one.isWritten ? index : [])),
    delivered,
  });
}

describe('a manifest', () => {
  it('a manifest is written in pieces as it always was, and read in pieces whatever its names are', async () => {
    await fc.assert(
      fc.asyncProperty(manifests, async (manifest) => {
        const bytes = await encodeManifest(manifest);
        expect(gunzipSync(bytes).toString()).to.equal(jsonOf(manifest).toWellFormed());
        expect(await decodeManifest(gzipSync(jsonOf(manifest)))).to.deep.equal(manifest);
        expect(await decodeManifest(bytes)).to.deep.equal(manifest);
      }),
      { numRuns: 30 },
    );
  });

  it('a manifest of an earlier version is read, which has no list of written files and other marks of deliveries', async () => {
    const manifest: Manifest = {
      ...EMPTY_MANIFEST,
      entries: [{ kind: 'directory', path: '/workspace/a', mode: 0o755 }],
    };
    const { written: _, ...earlier } = { ...(JSON.parse(jsonOf(manifest)) as object), written: 0, delivered: ['x'] };
    expect(await decodeManifest(gzipSync(JSON.stringify(earlier)))).to.deep.equal(manifest);
  });

  it('a manifest with more than one piece of bytes is read whole, with characters that two pieces share', async () => {
    const entries = Array.from({ length: 3000 }, (_, at): TreeEntry => ({
      kind: 'symlink',
      path: `/workspace/${at}${'ä😀'.repeat(30)}`,
      target: '"]'.repeat(at % 50),
    }));
    const manifest = { ...EMPTY_MANIFEST, entries };
    expect(await decodeManifest(await encodeManifest(manifest))).to.deep.equal(manifest);
  });

  it('a manifest that is damaged or larger than it may be is refused', async () => {
    const manifest: Manifest = {
      ...EMPTY_MANIFEST,
      entries: [{ kind: 'directory', path: '/workspace/a', mode: 0o755 }],
    };
    const json = jsonOf(manifest);
    const failureOf = (bytes: Buffer, maxBytes?: number): Promise<unknown> =>
      decodeManifest(bytes, maxBytes).then(
        () => null,
        (error: unknown) => error,
      );
    expect(await failureOf(gzipSync(json), json.length)).to.equal(null);
    expect(await failureOf(gzipSync(json), json.length - 1)).to.be.instanceOf(RangeError);
    for (const damaged of [
      '',
      '{}',
      'null',
      json.slice(0, -1),
      json.replace('["d"', '["x"'),
      json.replace('[],"del', '[0],"del'),
      json.replace('[],"del', '["push"],"del'),
      `${json} x`,
    ]) {
      expect(await failureOf(gzipSync(damaged)), damaged).to.be.instanceOf(Error);
    }
    expect(await failureOf(gzipSync(json).subarray(0, -9))).to.be.instanceOf(Error);
  });
});
