import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { fingerprints } from '../../../src/db/migrations/index.js';

const FOLDER = new URL('../../../src/db/migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');
const numberOf = (file: string): number => Number.parseInt(file, 10);
const files = readdirSync(FOLDER)
  .filter((file) => /^\d+-.+\.ts$/.test(file))
  .sort((a, b) => numberOf(a) - numberOf(b));

describe('the files of migrations', () => {
  it('the files of migrations are numbered, their classes with the same numbers, and all of them run in this order', () => {
    const names = files.map((file) => /export class (\w+)/.exec(read(file))![1]!);
    const numbered = names.map((name, index) =>
      name.replace(/\d{13}$/, String(1_800_000_000_000 + numberOf(files[index]!))),
    );
    expect(names).to.deep.equal(numbered);
    expect([...fingerprints.keys()]).to.deep.equal(names);
  });

  it('the files of migrations are those that databases know by their fingerprints: a released one never changes', () => {
    for (const [index, [name, recorded]] of [...fingerprints].entries()) {
      const sha256 = createHash('sha256').update(read(files[index]!)).digest('hex');
      const advice =
        `${files[index]} has changed: databases in which it ran before refuse this version. If it is released, take the change ` +
        `back and write a new migration; else write in src/db/migrations/index.ts: [${name}, '${sha256}'],`;
      expect(recorded, advice).to.equal(sha256);
    }
  });

  it('the files of migrations keep the first one as it was released', () => {
    expect(fingerprints.get('Initial1800000000001')).to.equal(
      'e766de84e467555924274fa52808a1ea7af8889a8a0022fa965ddd91bbbb856a',
    );
  });
});
