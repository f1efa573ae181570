import { expect } from 'chai';
import { uploadNames } from '../../../src/workspaces/uploads.js';

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
