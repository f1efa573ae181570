import { expect } from 'chai';
import { useWorkspaceService } from '../support/workspace-service.js';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the file tools of a workspace', () => {
  const { service, session, results, bash } = useWorkspaceService();

  it('the file tools of a workspace write a file with its folders, read it as it is, and replace text literally', async () => {
    const id = await session();
    const found = await results(id, [
      ['write', { file_path: 'a/b.txt', content: 'one $& two\ntwo\n' }],
      ['read', { file_path: '/workspace/a/b.txt' }],
      ['edit', { file_path: 'a/b.txt', old_string: 'two', new_string: '$1' }],
      ['edit', { file_path: 'a/b.txt', old_string: 'two', new_string: '$1', replace_all: true }],
      ['edit', { file_path: 'a/b.txt', old_string: 'o.e', new_string: 'x' }],
      ['read', { file_path: 'a/b.txt' }],
      ['bash', { command: 'stat -c %a a/b.txt; chmod 750 a/b.txt' }],
      ['write', { file_path: 'a/b.txt', content: 'new' }],
      ['bash', { command: 'stat -c %a a/b.txt; cat a/b.txt' }],
    ]);
    const [write, read, twice, all, none, after, mode, , kept] = found;
    expect(write.workspace).to.deep.include({
      ...{ version: 1, exit_code: null, stopped: null },
      changes: { created: ['/workspace/a', '/workspace/a/b.txt'], modified: [], deleted: [], more: 0 },
    });
    expect(read).to.include({ content: 'one $& two\ntwo\n', is_error: false });
    expect(read.workspace).to.include({ version: 1 });
    expect(twice).to.include({ is_error: true }).and.have.property('content').that.contains('2 times');
    expect(twice.workspace).to.include({ version: 1 });
    expect(all.workspace).to.deep.include({ version: 2 });
    expect(none).to.include({ is_error: true }).and.have.property('content').that.contains('does not contain');
    expect(after.content).to.equal('one $& $1\n$1\n');
    expect([mode.content, kept.content]).to.deep.equal(['644\n', '750\nnew']);
  });

  it('the file tools of a workspace read ranges of lines, folders and images, and name what they cannot read', async () => {
    const id = await session();
    await bash(
      id,
      `seq 1 9000 > n; printf 'a\\nb' > ab; : > empty; mkdir -p d/sub; touch d/.x "d/b c"; ln -s /etc/passwd d/link
       printf 'a\\0b' > nul; echo ${PNG} | base64 -d > p.png; cp ab not.png; chmod 000 empty`,
    );
    const show = async (file_path: string, view_range?: [number, number]) => {
      const [result] = await results(id, [['read', { file_path, ...(view_range && { view_range }) }]]);
      return result.is_error ? `error: ${result.content}` : result.content;
    };
    expect(await show('ab')).to.equal('a\nb');
    expect(await show('n', [2, 3])).to.equal('2\n3\n[lines 2-3 of 9000]');
    expect(await show('n', [8999, 0])).to.equal('8999\n9000\n[lines 8999-9000 of 9000]');
    expect(await show('n', [9001, 0])).to.equal('[The file has 9000 lines; none of them is in this range.]');
    expect(await show('d')).to.equal('.x\nb c\nlink\nsub/');
    expect(await show('p.png')).to.equal('p.png');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain(PNG);
    expect(await show('/mnt/session/outputs')).to.equal('(The folder is empty.)');
    for (const [path, reason] of [
      ['gone', 'does not exist'],
      ['/dev/null', 'is neither a file nor a folder'],
      ['nul', 'is not text'],
      ['not.png', 'no image'],
      ['/etc/shadow', 'does not exist'],
    ] as const)
      expect(await show(path), path)
        .to.match(/^error: /)
        .and.contain(reason);
    // A link leads where a command could read, and nowhere else.
    expect(await show('d/link')).to.contain('agent:x:1000');
    const [denied] = await results(id, [['write', { file_path: '/usr/bin/x', content: 'x' }]]);
    expect(denied).to.include({ is_error: true });
    expect(denied.content).to.match(/Read-only|denied/);
  });

  it('the file tools of a workspace show at most 48 KiB of a text, in whole lines, and cut a longer line', async () => {
    const id = await session();
    await bash(id, `seq 1 100000 > n; head -c 100000 /dev/zero | tr '\\0' x > long; printf '\\nend' >> long`);
    const [lines, long] = await results(id, [
      ['read', { file_path: 'n' }],
      ['read', { file_path: 'long' }],
    ]);
    expect(lines.truncated).to.equal(true);
    const shown = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(shown).to.match(/\\n(\d+)\\n\[lines 1-\1 of 100000\]/);
    expect(shown).to.contain('x\\n[lines 1-1 of 2]').and.not.contain('read_file {');
    expect(long.is_error).to.equal(false);
  });
});
