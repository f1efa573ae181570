import { expect } from 'chai';
import { bundleOf, filler, pathsOf, refusalOf, SKILL, skillMd, zip, type ZipEntry } from './zip.js';
import { reachedLimit } from '../../support/rows.js';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('the limits of skill packages', () => {
  it('the reader of skill packages takes 500 entries, folders included, and not one more', async () => {
    expect(pathsOf(await bundleOf(zip([SKILL, ...filler(499)])))).to.have.length(500);
    const folders = Array.from({ length: 499 }, (_, index) => ({ name: `d${index}/` }));
    expect(pathsOf(await bundleOf(zip([SKILL, ...folders])))).to.deep.equal(['SKILL.md']);
    for (const entries of [
      [SKILL, ...filler(500)],
      [SKILL, ...folders, { name: 'last/' }],
    ]) {
      const error = await refusalOf(zip(entries));
      expect(error).to.include({ type: 'skill_bundle_too_large', status: 413, details: undefined });
    }
    reachedLimit('skill package: 500 entries');
  });

  it('the reader of skill packages counts folders that have no entry, but for the top-level one', async () => {
    const inFolders = (count: number): ZipEntry[] =>
      Array.from({ length: count }, (_, index) => ({ name: `demo/d${index}/f`, content: 'x' }));
    const top = { name: 'demo/SKILL.md', content: skillMd() };
    const one = { name: 'demo/one', content: 'x' };
    expect(pathsOf(await bundleOf(zip([top, one, ...inFolders(249)])))).to.have.length(251);
    for (const entries of [
      [{ name: 'demo/' }, top, one, ...inFolders(249)],
      [top, one, { name: 'demo/two', content: 'x' }, ...inFolders(249)],
      [top, { name: `demo/${'d/'.repeat(500)}f`, content: 'x' }],
    ]) {
      expect(await refusalOf(zip(entries))).to.have.property('type', 'skill_bundle_too_large');
    }
  });

  it('the reader of skill packages does not count the metadata files of Finder', async () => {
    const litter = filler(499).map(({ name }) => ({ name: `__MACOSX/._${String(name)}`, content: 'x' }));
    const bundle = await bundleOf(zip([SKILL, { name: '.DS_Store', content: 'x' }, ...filler(499), ...litter]));
    expect(pathsOf(bundle)).to.have.length(500);
    const flood = Array.from({ length: 2001 }, (_, index) => ({ name: `__MACOSX/${index}` }));
    expect(await refusalOf(zip([SKILL, ...flood]))).to.have.property('type', 'skill_bundle_too_large');
  });

  it('the reader of skill packages stops at the first of too many entries named "."', async () => {
    const flood = Array.from({ length: 60_000 }, (_, index) => ({ name: './'.repeat(1 + (index % 3)) }));
    expect(await refusalOf(zip([SKILL, ...flood]))).to.have.property('type', 'skill_bundle_too_large');
    expect(pathsOf(await bundleOf(zip([{ name: './' }, SKILL])))).to.deep.equal(['SKILL.md']);
  });

  it('the reader of skill packages takes a SKILL.md of 32 KiB and not a byte more', async () => {
    const head = skillMd();
    const full = head + 'x'.repeat(32 * KIB - head.length);
    expect((await bundleOf(full, 'SKILL.md')).skillMd).to.have.length(32 * KIB);
    expect((await bundleOf(zip([{ name: 'SKILL.md', content: full }]))).skillMd).to.have.length(32 * KIB);
    for (const error of [
      await refusalOf(`${full}x`, 'SKILL.md'),
      await refusalOf(zip([{ name: 'SKILL.md', content: `${full}x` }])),
    ]) {
      expect(error).to.include({ type: 'invalid_skill_bundle', message: 'SKILL.md is larger than 32 KiB.' });
    }
    reachedLimit('SKILL.md: 32 KiB');
  });

  it('the reader of skill packages takes a file of 25 MiB and not a byte more', async () => {
    const large = Buffer.alloc(25 * MIB + 1);
    expect((await bundleOf(zip([SKILL, { name: 'big', content: large.subarray(1) }]))).sizeBytes).to.be.above(25 * MIB);
    const error = await refusalOf(zip([SKILL, { name: 'big', content: large }]));
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
    const error = await refusalOf(zip([SKILL, ...seven, rest, { name: 'one', content: 'x' }]));
    expect(error).to.have.property('type', 'skill_bundle_too_large');
    expect(error.details).to.deep.equal({ max_bytes: 200 * MIB });
    reachedLimit('skill package: 200 MiB in all');
  });
});
