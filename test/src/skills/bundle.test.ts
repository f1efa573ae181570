import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { ServiceError } from '../../../src/platform/errors.js';
import { readArchive } from '../../../src/skills/archive.js';
import type { Bundle } from '../../../src/skills/bundle.js';
import { bundleOf, skillMd, zip, type ZipEntry } from './zip.js';
import { reachedLimit } from '../../support/rows.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const SKILL: ZipEntry = { name: 'SKILL.md', content: skillMd() };
const paths = (bundle: Bundle): string[] => bundle.files.map((file) => file.path);
const filler = (count: number): ZipEntry[] =>
  Array.from({ length: count }, (_, index) => ({ name: `f${index}.txt`, content: 'x' }));

async function refusal(content: Buffer | string, filename?: string): Promise<ServiceError> {
  const answer: unknown = await bundleOf(content, filename).catch((error: unknown) => error);
  expect(answer).to.be.instanceOf(ServiceError);
  return answer as ServiceError;
}

describe('skill packages', () => {
  describe('forms', () => {
    for (const filename of ['demo.zip', 'demo.skill', 'DEMO.ZIP', 'noname']) {
      it(`the reader of skill packages takes an archive called ${filename}`, async () => {
        const bundle = await bundleOf(zip([SKILL, { name: 'a/b.txt', content: 'b' }]), filename);
        expect(bundle).to.include({ name: 'demo', description: 'Shows how.' });
        expect(paths(bundle)).to.deep.equal(['SKILL.md', 'a/b.txt']);
      });
    }

    it('the reader of skill packages stores a single SKILL.md as the archive that contains only it', async () => {
      const single = await bundleOf(skillMd(), 'SKILL.md');
      expect(single.bytes.equals((await bundleOf(zip([SKILL]))).bytes)).to.equal(true);
      expect(single.sizeBytes).to.equal(single.bytes.length);
    });

    for (const [what, content, filename] of [
      ['text that is called .zip', skillMd(), 'demo.zip'],
      ['text of another name', skillMd(), 'SKILL.txt'],
      ['an empty file', '', 'demo.zip'],
      ['a gzip', Buffer.from('1f8b0800', 'hex'), 'demo.tar.gz'],
    ] as [string, string | Buffer, string][]) {
      it(`the reader of skill packages refuses ${what}`, async () => {
        const error = await refusal(content, filename);
        expect(error).to.include({ type: 'invalid_skill_bundle', status: 422 });
        expect(error.message).to.match(/neither a ZIP archive/);
      });
    }
  });

  describe('the skill folder', () => {
    it('the skill folder is the root if SKILL.md is there, whatever is beside it', async () => {
      const bundle = await bundleOf(zip([{ name: 'x/SKILL.md', content: 'no' }, SKILL, { name: 'y/a', content: '1' }]));
      expect(paths(bundle)).to.deep.equal(['SKILL.md', 'x/SKILL.md', 'y/a']);
    });

    it('the skill folder is the only top-level folder, with or without an entry of its own', async () => {
      const inside = [
        { name: 'demo/SKILL.md', content: skillMd() },
        { name: 'demo/a/b.txt', content: 'b' },
      ];
      const without = await bundleOf(zip(inside));
      const withEntry = await bundleOf(zip([{ name: 'demo/' }, { name: 'demo/a/' }, ...inside]));
      expect(paths(without)).to.deep.equal(['SKILL.md', 'a/b.txt']);
      expect(withEntry.bytes.equals(without.bytes)).to.equal(true);
    });

    it('the skill folder leaves out files that lie beside it', async () => {
      const bundle = await bundleOf(
        zip([
          { name: 'README', content: 'r' },
          { name: 'demo/SKILL.md', content: skillMd() },
        ]),
      );
      expect(paths(bundle)).to.deep.equal(['SKILL.md']);
    });

    for (const [what, entries, message] of [
      ['no SKILL.md', [{ name: 'readme.md', content: 'x' }], /has no SKILL.md/],
      ['no entry at all', [], /has no SKILL.md/],
      ['one two folders deep', [{ name: 'a/b/SKILL.md', content: skillMd() }], /found "a\/b\/SKILL.md"/],
      [
        'one beside another folder',
        [
          { name: 'a/SKILL.md', content: skillMd() },
          { name: 'b/x', content: '1' },
        ],
        /found "a\/SKILL.md"/,
      ],
      ['another spelling', [{ name: 'skill.md', content: skillMd() }], /found "skill.md"/],
      ['a folder of that name', [{ name: 'SKILL.md/' }], /has no SKILL.md/],
    ] as [string, ZipEntry[], RegExp][]) {
      it(`the skill folder refuses ${what}`, async () => {
        const error = await refusal(zip(entries));
        expect(error).to.have.property('type', 'invalid_skill_bundle');
        expect(error.message).to.match(message);
      });
    }
  });

  describe('the stored form', () => {
    const entries: ZipEntry[] = [SKILL, { name: 'b.txt', content: 'bbb' }, { name: 'a/é.txt', content: 'e' }];

    it('the stored form is the same for the same content, however it was packed', async () => {
      const { bytes } = await bundleOf(zip(entries));
      const others = [
        zip(entries.toReversed()),
        zip(entries.map((entry) => ({ ...entry, method: 0 }))),
        zip(entries.map((entry) => ({ ...entry, dataDescriptor: true, mode: 0o100755 }))),
        zip(entries.map((entry) => ({ ...entry, name: `top/${String(entry.name)}` }))),
        zip(entries.map((entry) => ({ ...entry, name: String(entry.name).normalize('NFD') }))),
        zip(entries.map((entry) => ({ ...entry, name: `./${String(entry.name)}` }))),
      ];
      for (const other of others) expect((await bundleOf(other)).bytes.equals(bytes)).to.equal(true);
    });

    it('the stored form has a fixed hash', async () => {
      const { bytes, sizeBytes } = await bundleOf(zip(entries));
      expect(sizeBytes).to.equal(bytes.length);
      expect(createHash('sha256').update(bytes).digest('hex')).to.equal(
        '4549368dc89a9822e5ad3a596f56446799d1fa6620ff647a86e200103fc0eed3',
      );
    });

    it('the stored form lists by its end, and each file by its range', async () => {
      const { bytes } = await bundleOf(zip([...entries, ...filler(490)]));
      const read = (start: number, end: number): Promise<Buffer> => Promise.resolve(bytes.subarray(start, end));
      const files = await readArchive(bytes.length, read);
      expect(files).to.have.length(493);
      const { start, size } = files.find(({ path }) => path === 'b.txt')!;
      expect(bytes.toString('utf8', start, start + size)).to.equal('bbb');
      expect(files.map(({ path }) => path)).to.deep.equal(files.map(({ path }) => path).toSorted());
    });
  });

  describe('limits', () => {
    it('the reader of skill packages takes 500 entries, folders included, and not one more', async () => {
      expect(paths(await bundleOf(zip([SKILL, ...filler(499)])))).to.have.length(500);
      const folders = Array.from({ length: 499 }, (_, index) => ({ name: `d${index}/` }));
      expect(paths(await bundleOf(zip([SKILL, ...folders])))).to.deep.equal(['SKILL.md']);
      for (const entries of [
        [SKILL, ...filler(500)],
        [SKILL, ...folders, { name: 'last/' }],
      ]) {
        const error = await refusal(zip(entries));
        expect(error).to.include({ type: 'skill_bundle_too_large', status: 413, details: undefined });
      }
      reachedLimit('skill package: 500 entries');
    });

    it('the reader of skill packages counts folders that have no entry, but for the top-level one', async () => {
      const inFolders = (count: number): ZipEntry[] =>
        Array.from({ length: count }, (_, index) => ({ name: `demo/d${index}/f`, content: 'x' }));
      const top = { name: 'demo/SKILL.md', content: skillMd() };
      const one = { name: 'demo/one', content: 'x' };
      expect(paths(await bundleOf(zip([top, one, ...inFolders(249)])))).to.have.length(251);
      for (const entries of [
        [{ name: 'demo/' }, top, one, ...inFolders(249)],
        [top, one, { name: 'demo/two', content: 'x' }, ...inFolders(249)],
        [top, { name: `demo/${'d/'.repeat(500)}f`, content: 'x' }],
      ]) {
        expect(await refusal(zip(entries))).to.have.property('type', 'skill_bundle_too_large');
      }
    });

    it('the reader of skill packages does not count the metadata files of Finder', async () => {
      const litter = filler(499).map(({ name }) => ({ name: `__MACOSX/._${String(name)}`, content: 'x' }));
      const bundle = await bundleOf(zip([SKILL, { name: '.DS_Store', content: 'x' }, ...filler(499), ...litter]));
      expect(paths(bundle)).to.have.length(500);
      const flood = Array.from({ length: 2001 }, (_, index) => ({ name: `__MACOSX/${index}` }));
      expect(await refusal(zip([SKILL, ...flood]))).to.have.property('type', 'skill_bundle_too_large');
    });

    it('the reader of skill packages stops at the first of too many entries named "."', async () => {
      const flood = Array.from({ length: 60_000 }, (_, index) => ({ name: './'.repeat(1 + (index % 3)) }));
      expect(await refusal(zip([SKILL, ...flood]))).to.have.property('type', 'skill_bundle_too_large');
      expect(paths(await bundleOf(zip([{ name: './' }, SKILL])))).to.deep.equal(['SKILL.md']);
    });

    it('the reader of skill packages takes a SKILL.md of 32 KiB and not a byte more', async () => {
      const head = skillMd();
      const full = head + 'x'.repeat(32 * KIB - head.length);
      expect((await bundleOf(full, 'SKILL.md')).skillMd).to.have.length(32 * KIB);
      expect((await bundleOf(zip([{ name: 'SKILL.md', content: full }]))).skillMd).to.have.length(32 * KIB);
      for (const error of [
        await refusal(`${full}x`, 'SKILL.md'),
        await refusal(zip([{ name: 'SKILL.md', content: `${full}x` }])),
      ]) {
        expect(error).to.include({ type: 'invalid_skill_bundle', message: 'SKILL.md is larger than 32 KiB.' });
      }
      reachedLimit('SKILL.md: 32 KiB');
    });

    it('the reader of skill packages takes a file of 25 MiB and not a byte more', async () => {
      const large = Buffer.alloc(25 * MIB + 1);
      expect((await bundleOf(zip([SKILL, { name: 'big', content: large.subarray(1) }]))).sizeBytes).to.be.above(
        25 * MIB,
      );
      const error = await refusal(zip([SKILL, { name: 'big', content: large }]));
      expect(error).to.have.property('type', 'skill_bundle_too_large');
      expect(error.message).to.equal('The file "big" is larger than 25 MiB.');
      expect(error.details).to.deep.equal({ max_bytes: 25 * MIB });
      reachedLimit('skill package: 25 MiB a file');
    });

    it('the reader of skill packages takes 200 MiB in all and not a byte more, whatever is litter', async () => {
      const large = Buffer.alloc(25 * MIB);
      const seven = Array.from({ length: 7 }, (_, index) => ({ name: `${index}`, content: large }));
      const rest = { name: 'rest', content: large.subarray(Buffer.byteLength(skillMd())) };
      const full = zip([SKILL, ...seven, rest, { name: '__MACOSX/x', content: 'xxx' }]);
      expect((await bundleOf(full)).files).to.have.length(9);
      const error = await refusal(zip([SKILL, ...seven, rest, { name: 'one', content: 'x' }]));
      expect(error).to.have.property('type', 'skill_bundle_too_large');
      expect(error.details).to.deep.equal({ max_bytes: 200 * MIB });
      reachedLimit('skill package: 200 MiB in all');
    });
  });
});
