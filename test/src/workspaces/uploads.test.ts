import { expect } from 'chai';
import { newestUploads, uploadNames } from '../../../src/workspaces/uploads.js';

describe('the names of attachments in a workspace', () => {
  /** Ids whose last six characters differ. */
  const idOf = (at: number): string => `file_01kag8y7m3w9s1p4x2c5${String(at).padStart(6, '0')}`;
  const namesOf = (...filenames: string[]): string[] => {
    const names = uploadNames(filenames.map((filename, at) => ({ id: idOf(at), filename })));
    return filenames.map((_, at) => names.get(idOf(at))!);
  };

  it('the names of attachments in a workspace are those of the files, where they differ', () => {
    const names = ['a.csv', 'A.csv', 'a', '.hidden', 'a b.tar.gz', 'Übung 😀.txt', '...'];
    expect(namesOf(...names)).to.deep.equal(names);
  });

  it('the names of attachments in a workspace have the end of the id before the last extension, where an earlier one has the name', () => {
    expect(namesOf('a.csv', 'a.csv', 'a.csv')).to.deep.equal(['a.csv', 'a-000001.csv', 'a-000002.csv']);
    expect(namesOf('a.tar.gz', 'a.tar.gz')[1]).to.equal('a.tar-000001.gz');
    expect(namesOf('README', 'README')[1]).to.equal('README-000001');
    expect(namesOf('.env', '.env')[1]).to.equal('.env-000001');
    // Someone has chosen the name that the next one would get: then it is the id.
    expect(namesOf('a.csv', 'a-000002.csv', 'a.csv')[2]).to.equal(`${idOf(2)}.csv`);
  });

  it('the names of attachments in a workspace are the id and the extension, where the name cannot be one', () => {
    const long = 'x'.repeat(300);
    expect(namesOf('.', '..', `${long}.pdf`, long)).to.deep.equal([idOf(0), `${idOf(1)}.`, `${idOf(2)}.pdf`, idOf(3)]);
    expect(namesOf(`a.${long}`)).to.deep.equal([idOf(0)]);
    // In bytes: 127 characters of two bytes each.
    const name = 'ä'.repeat(127);
    expect(namesOf(name, `${name}ä`)).to.deep.equal([name, idOf(1)]);
    // The name is short enough, and too long with the end of its id.
    expect(namesOf(`${'y'.repeat(251)}.txt`, `${'y'.repeat(251)}.txt`)[1]).to.equal(`${idOf(1)}.txt`);
  });

  it('the names of attachments in a workspace stay when one is attached again, and when further ones come', () => {
    const files = ['a', 'b', 'a', 'a'].map((filename, at) => ({ id: idOf(at), filename }));
    const before = uploadNames(files);
    const after = uploadNames([...files, { id: idOf(0), filename: 'a' }, { id: idOf(4), filename: 'b' }]);
    for (const [id, name] of before) expect(after.get(id)).to.equal(name);
    expect(after.size).to.equal(5);
    expect(new Set(after.values()).size).to.equal(5);
  });
});

describe('the attachments that a sandbox shows', () => {
  const file = (at: number, size_bytes = 1, storage_key: string | null = 'key') => ({ at, size_bytes, storage_key });
  const shown = (files: ReturnType<typeof file>[]): number[] => newestUploads(files).map(({ at }) => at);

  it('the attachments that a sandbox shows are the newest 500 of those that are not deleted', () => {
    const files = Array.from({ length: 502 }, (_, at) => file(at));
    expect(shown(files.slice(0, 500))).to.have.length(500);
    expect(shown(files)).to.deep.equal(files.slice(2).map(({ at }) => at));
    files[400] = file(400, 1, null);
    expect(shown(files)).to.have.length(500).and.include(1).and.not.include(400);
  });

  it('the attachments that a sandbox shows have 2 GiB together, and not a byte more', () => {
    const half = 1024 ** 3;
    expect(shown([file(0), file(1, half), file(2, half)])).to.deep.equal([1, 2]);
    expect(shown([file(0), file(1, half), file(2, half + 1)])).to.deep.equal([2]);
    expect(shown([file(0, 0), file(1, half), file(2, half)])).to.deep.equal([0, 1, 2]);
  });
});
