import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { readArchive } from '../../../src/skills/archive.js';
import { bundleOf, filler, pathsOf, refusalOf, SKILL, skillMd, zip, type ZipEntry } from './zip.js';

describe('skill packages', () => {
  describe('forms', () => {
    for (const filename of ['demo.zip', 'demo.skill', 'DEMO.ZIP', 'noname']) {
      it(`the reader of skill packages takes an archive called ${filename}`, async () => {
        const bundle = await bundleOf(zip([SKILL, { name: 'a/b.txt', content: 'b' }]), filename);
        expect(bundle).to.include({ name: 'demo', description: 'Shows how.' });
        expect(pathsOf(bundle)).to.deep.equal(['SKILL.md', 'a/b.txt']);
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
        const error = await refusalOf(content, filename);
        expect(error).to.include({ type: 'invalid_skill_bundle', status: 422 });
        expect(error.message).to.match(/neither a ZIP archive/);
      });
    }
  });

  describe('the skill folder', () => {
    it('the skill folder is the root if SKILL.md is there, whatever is beside it', async () => {
      const bundle = await bundleOf(zip([{ name: 'x/SKILL.md', content: 'no' }, SKILL, { name: 'y/a', content: '1' }]));
      expect(pathsOf(bundle)).to.deep.equal(['SKILL.md', 'x/SKILL.md', 'y/a']);
    });

    it('the skill folder is the only top-level folder, with or without an entry of its own', async () => {
      const inside = [
        { name: 'demo/SKILL.md', content: skillMd() },
        { name: 'demo/a/b.txt', content: 'b' },
      ];
      const without = await bundleOf(zip(inside));
      const withEntry = await bundleOf(zip([{ name: 'demo/' }, { name: 'demo/a/' }, ...inside]));
      expect(pathsOf(without)).to.deep.equal(['SKILL.md', 'a/b.txt']);
      expect(withEntry.bytes.equals(without.bytes)).to.equal(true);
    });

    it('the skill folder leaves out files that lie beside it', async () => {
      const bundle = await bundleOf(
        zip([
          { name: 'README', content: 'r' },
          { name: 'demo/SKILL.md', content: skillMd() },
        ]),
      );
      expect(pathsOf(bundle)).to.deep.equal(['SKILL.md']);
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
        const error = await refusalOf(zip(entries));
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
});
