import { expect } from 'chai';
import { openStorage } from '../../src/files/open-storage.js';
import { skillMd, zip } from '../src/skills/zip.js';
import { upload } from '../support/upload.js';
import { useWorkspaceService } from '../support/workspace-service.js';

describe('a command of a workspace', () => {
  const { service, session, results, bash } = useWorkspaceService();
  const uploaded = async (name: string, content: string): Promise<string> =>
    (await upload(service, name, content)).body.id as string;

  it('a command of a workspace reads the attachments of the session, each under a name of its own, and cannot change them', async () => {
    const id = await session();
    const [first, second, third] = [
      await uploaded('a.csv', '1'),
      await uploaded('a.csv', '2'),
      await uploaded('b', ''),
    ];
    const command = 'cd /mnt/session/uploads && for f in *; do echo "$f: $(cat "$f")"; done; echo x >> a.csv';
    const [before] = await results(id, [['bash', { command }]], { files: [first, second] });
    expect(before.content)
      .to.contain(`a-${second.slice(-6)}.csv: 2\na.csv: 1\n`)
      .and.match(/Read-only file system|Permission denied/);
    const asked = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(asked).to.contain('in the workspace: /mnt/session/uploads/a.csv');
    const [after] = await results(id, [['bash', { command }]], { files: [third] });
    expect(after.content).to.contain('a.csv: 1\nb: \n');
    await service.api('DELETE', `/v1/files/${first}`);
    // The names of the others stay.
    expect((await bash(id, 'ls /mnt/session/uploads')).content).to.equal(`a-${second.slice(-6)}.csv\nb\n`);
  });

  it('a command of a workspace gets an error result that helps while the content of an attachment is lost, and runs when it is deleted', async () => {
    const id = await session();
    const file = await uploaded('lost.csv', '1');
    const [{ key }] = await service.db.query<[{ key: string }]>('SELECT storage_key AS key FROM files WHERE id = $1', [
      file,
    ]);
    await (await openStorage(service.config)).delete(key);
    const [result] = await results(id, [['bash', { command: 'echo ran' }]], { files: [file] });
    expect(result).to.include({ is_error: true }).and.not.have.property('workspace');
    expect(result.content).to.contain('has lost an attachment of this session').and.contain('when it is deleted');
    expect((await service.api('DELETE', `/v1/files/${file}`)).status).to.equal(204);
    expect((await bash(id, 'echo ran')).content).to.equal('ran\n');
  });

  it('a command of a workspace reads the skills of its turn and runs their scripts, and those of no other turn', async () => {
    const form = new FormData();
    const files = {
      'SKILL.md': skillMd('counting'),
      'scripts/count.sh': '#!/bin/bash\nsource "$(dirname "$0")/../lib/add.sh"\nadd "$@"\n',
      'lib/add.sh': 'add() { echo "sum $(($1 + $2))"; }\n',
    };
    form.set(
      'file',
      new Blob([new Uint8Array(zip(Object.entries(files).map(([name, content]) => ({ name, content }))))]),
      'counting.zip',
    );
    const { status, body: skill } = await service.api('POST', '/v1/skills', form);
    expect(status, JSON.stringify(skill)).to.equal(201);
    const id = await session();
    const [used, ran, changed] = await results(
      id,
      [
        ['use_skill', { name: 'counting' }],
        ['bash', { command: '/mnt/skills/counting/scripts/count.sh 2 3' }],
        ['bash', { command: 'echo x >> /mnt/skills/counting/SKILL.md' }],
      ],
      { skills: [skill.id] },
    );
    expect(used.content).to.contain('/mnt/skills/counting (read-only)');
    expect(ran).to.include({ content: 'sum 5\n', is_error: false });
    expect(changed.content).to.match(/Read-only file system|Permission denied/);
    expect((await bash(id, 'ls /mnt/skills')).content).to.not.contain('counting');
  });

  it('a command of a workspace begins in a fork with the tree that stands, and leaves that of the other session', async () => {
    const id = await session();
    await bash(id, 'echo one > a; cd /tmp');
    const { status, body: fork } = await service.api('POST', `/v1/sessions/${id}/fork`, {});
    expect(status).to.equal(201);
    const { workspace } = (await service.api('GET', `/v1/sessions/${id}`)).body;
    expect(fork.workspace).to.deep.equal(workspace);
    expect(workspace).to.include({ version: 1, size_bytes: 4, file_count: 1 });
    expect((await bash(fork.id as string, 'pwd; cat /workspace/a; echo two > /workspace/a')).content).to.equal(
      '/tmp\none\n',
    );
    expect((await bash(id, 'cat /workspace/a')).content).to.equal('one\n');
    expect((await service.api('DELETE', `/v1/sessions/${id}`)).status).to.equal(204);
    expect((await bash(fork.id as string, 'cat /workspace/a')).content).to.equal('two\n');
  });
});
