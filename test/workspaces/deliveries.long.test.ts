import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { upload } from '../support/upload.js';
import { useWorkspaceService } from '../support/workspace-service.js';

const MAX_BYTES = 4_000_000;

describe('the outputs of a workspace', () => {
  const { service, session, calls, bash } = useWorkspaceService({ config: { maxStoragePerProject: MAX_BYTES } });

  /** Runs one call; the names of the files that it delivers, and its result. */
  const delivered = async (id: string, name: string, input: Record<string, unknown>) => {
    const events = await calls(id, [[name, input]]);
    const at = events.findIndex(({ type }) => type === 'agent.tool_result');
    const files = events.filter(({ type }) => type === 'agent.file').map(({ file }) => file.filename as string);
    // Right before the result.
    expect(events.slice(at - files.length, at).every(({ type }) => type === 'agent.file')).to.equal(true);
    return { files, content: events[at].content as string, isError: events[at].is_error as boolean, events };
  };

  it('the outputs of a workspace are delivered when a call has made or written them, and only then', async () => {
    const id = await session();
    const first = await delivered(id, 'bash', {
      command: `cd /mnt/user-data/outputs && mkdir sub && echo 1 > sub/b.txt && echo 1 > a.txt && ln -s a.txt link && exit 3`,
    });
    expect(first.files).to.deep.equal(['a.txt', 'b.txt']);
    expect(first).to.include({ isError: true });
    const [{ file }] = first.events.filter(({ type }) => type === 'agent.file');
    const { headers } = await service.api('GET', `/v1/files/${file.id}/content`);
    expect(await (await fetch(headers.get('location')!)).text()).to.equal('1\n');
    expect((await service.api('GET', `/v1/files?session_id=${id}&origin=OUTPUT`)).body.items).to.have.length(2);

    expect(
      (await delivered(id, 'bash', { command: 'cd /mnt/session/outputs && touch a.txt && mv a.txt c.txt' })).files,
    ).to.deep.equal(['c.txt']);
    expect(
      (await delivered(id, 'bash', { command: 'cd /mnt/session/outputs && cp c.txt a.txt && echo 2 > sub/b.txt' }))
        .files,
    ).to.deep.equal(['a.txt', 'b.txt']);
    expect((await delivered(id, 'bash', { command: 'chmod 600 /mnt/session/outputs/a.txt' })).files).to.deep.equal([]);
    expect(
      (await delivered(id, 'write', { file_path: '/mnt/session/outputs/w.md', content: 'w' })).files,
    ).to.deep.equal(['w.md']);
    expect((await delivered(id, 'read', { file_path: '/mnt/session/outputs/w.md' })).files).to.deep.equal([]);
    const stopped = { command: 'echo half > /mnt/session/outputs/half; sleep 60', timeout_ms: 500 };
    expect((await delivered(id, 'bash', stopped)).files).to.deep.equal([]);
    expect((await delivered(id, 'bash', { command: 'true' })).files).to.deep.equal(['half']);
  });

  const OUT = '/mnt/session/outputs';
  const textsOf = async (events: { type: string; file?: { id: string } }[]): Promise<string[]> => {
    const files = events.filter(({ type }) => type === 'agent.file');
    return Promise.all(
      files.map(async ({ file }) => {
        const { headers } = await service.api('GET', `/v1/files/${file!.id}/content`);
        return (await fetch(headers.get('location')!)).text();
      }),
    );
  };

  it('the outputs of a workspace are delivered in each turn that writes them, also with a content that was delivered before', async () => {
    const id = await session();
    for (const content of ['A', 'B', 'A', 'A']) {
      const { events } = await delivered(id, 'bash', { command: `printf ${content} > ${OUT}/r.txt` });
      expect(await textsOf(events)).to.deep.equal([content]);
    }
    // A copy that keeps the time of an equal file.
    await bash(id, 'echo same > kept; sleep 0.05');
    for (const turn of [1, 2]) {
      const { files } = await delivered(id, 'bash', { command: `cp -p kept ${OUT}/copy.txt` });
      expect(files, `turn ${turn}`).to.deep.equal(['copy.txt']);
    }
  });

  it('the outputs of a workspace are delivered once in a turn for one content after another, and the result names what was left out', async () => {
    const id = await session();
    const write = (content: string): [string, Record<string, unknown>] => [
      'bash',
      { command: `printf ${content} > ${OUT}/r.txt` },
    ];
    const events = await calls(id, ['A', 'A', 'B', 'A'].map(write));
    expect(await textsOf(events)).to.deep.equal(['A', 'B', 'A']);
    const texts = events.filter(({ type }) => type === 'agent.tool_result').map(({ content }) => content as string);
    const left = `(no output)\n[not delivered: ${OUT}/r.txt: this turn has delivered this content from there]`;
    expect(texts).to.deep.equal(['(no output)', left, '(no output)', '(no output)']);
  });

  it('the outputs of a workspace are delivered again in a fork whose message is sent again', async () => {
    const id = await session();
    const make = { command: `echo report > ${OUT}/report.csv` };
    await bash(id, 'echo base > base.txt');
    await delivered(id, 'bash', make);
    const { items } = (await service.api('GET', `/v1/sessions/${id}/turns`)).body;
    const { body: fork } = await service.api('POST', `/v1/sessions/${id}/fork`, { before_turn_id: items[0].id });
    expect(fork.forked_from).to.include({ workspace: 'exact' });
    const seen = await bash(fork.id as string, `cat base.txt; ls ${OUT}`);
    expect(seen.content).to.equal('base\n');
    expect((await delivered(fork.id as string, 'bash', make)).files).to.deep.equal(['report.csv']);
    const listed = await service.api('GET', `/v1/files?session_id=${fork.id}`);
    expect(listed.body.items.map(({ filename }: { filename: string }) => filename)).to.deep.equal(['report.csv']);
  });

  it('the outputs of a workspace are delivered 20 at a time, and the others after the next calls', async () => {
    const id = await session();
    const command = 'cd /mnt/session/outputs; for i in {10..52}; do echo $i > f$i; done';
    const first = await delivered(id, 'bash', { command });
    expect(first.files).to.deep.equal(Array.from({ length: 20 }, (_, n) => `f${n + 10}`));
    expect(first.content).to.contain('[not delivered yet: 23 more files. The next commands deliver 20 each]');
    expect((await delivered(id, 'bash', { command: 'true' })).files).to.have.length(20);
    expect((await delivered(id, 'bash', { command: 'true' })).files).to.deep.equal(['f50', 'f51', 'f52']);
    expect((await delivered(id, 'bash', { command: 'true' })).files).to.deep.equal([]);
  });

  it('the outputs of a workspace that cannot be delivered are named once, until their content changes', async () => {
    const id = await session();
    const [one, two] = [
      await delivered(id, 'bash', { command: String.raw`cd /mnt/session/outputs; echo > $'a\nb'; echo > ok` }),
      await delivered(id, 'bash', { command: 'true' }),
    ];
    expect(one.files).to.deep.equal(['ok']);
    expect(one.content).to.contain('[not delivered: /mnt/session/outputs/a?b: The file name has control characters.]');
    expect(two.content).to.equal('(no output)');
  });

  it('the outputs of a workspace can be delivered by path, also from other folders, and are not delivered a second time', async () => {
    const id = await session();
    await bash(id, 'echo hello > a.txt; mkdir d; ln -s a.txt good; ln -s /etc/passwd bad');
    const deliver = (input: Record<string, unknown>) => delivered(id, 'deliver_file', input);
    expect((await deliver({ path: 'a.txt' })).files).to.deep.equal(['a.txt']);
    expect((await deliver({ path: 'good', filename: 'named.md' })).files).to.deep.equal(['named.md']);
    expect((await deliver({ filename: 'own.txt', content: 'own' })).files).to.deep.equal(['own.txt']);
    for (const input of [
      { path: 'gone' },
      { path: 'd' },
      { path: 'bad' },
      { path: 'a.txt', content: 'x' },
      { filename: 'x' },
      { content: 'x' },
      { path: 'a.txt', filename: 'a\u0007' },
    ]) {
      const { files, isError, content } = await deliver(input);
      expect({ files, isError }, JSON.stringify(input)).to.deep.equal({ files: [], isError: true });
      expect(content).to.contain('Nothing was delivered');
    }
    const both: [string, Record<string, unknown>][] = [
      ['bash', { command: 'echo 1 > /mnt/session/outputs/o; sleep 60', timeout_ms: 500 }],
      ['deliver_file', { path: '/mnt/session/outputs/o' }],
      ['bash', { command: 'true' }],
    ];
    expect((await calls(id, both)).filter(({ type }) => type === 'agent.file')).to.have.length(1);
  });

  it('the outputs of a workspace and the tree stay within the storage of the project: what does not fit is named, and nothing else is lost', async () => {
    const id = await session();
    await bash(id, 'head -c 1000000 /dev/urandom > kept');
    const sum = async () => {
      const [{ bytes }] = await service.db.query('SELECT bytes FROM project_storage');
      return Number(bytes);
    };
    const manifestBytes = async () => {
      const [{ bytes }] = await service.db.query(
        'SELECT object_bytes[1] AS bytes FROM workspaces WHERE session_id = $1',
        [id],
      );
      return Number(bytes);
    };
    const before = await sum();
    // Rows of the turns before count, too, some seconds after these have ended.
    const folded = async () => (await service.db.query('SELECT FROM row_byte_changes')).length === 0;
    await eventually('the bytes of rows are in the sum', folded);
    const [{ rows }] = await service.db.query('SELECT row_bytes::integer AS rows FROM project_storage');
    const max = MAX_BYTES - rows;
    const manifestBefore = await manifestBytes();
    await upload(service, 'first.bin', Buffer.alloc(max - before - 500_000));
    const stopped = await bash(id, 'head -c 600000 /dev/urandom > more');
    expect(stopped).to.include({ is_error: true });
    expect(stopped.content).to.contain('[stopped: disk]').and.contain('storage_limit_reached');
    expect(stopped.workspace).to.include({ version: 1, stopped: 'disk', exit_code: null });
    // The file counts as a part of the tree, and once more as a delivered one.
    const refused = await delivered(id, 'bash', {
      command: 'head -c 300000 /dev/urandom > /mnt/session/outputs/big; echo 1 > /mnt/session/outputs/small',
    });
    expect(refused.files).to.deep.equal(['small']);
    expect(refused.content).to.contain('[not delivered: /mnt/session/outputs/big: ');
    const smaller = await bash(id, 'rm kept /mnt/session/outputs/big; ls /workspace');
    expect(smaller).to.include({ content: '(no output)', is_error: false });
    // What it has removed is kept for forks, until something else needs the room.
    expect(await sum()).to.be.within(max - 500_000, max);
    expect(await bash(id, 'head -c 900000 /dev/urandom > again')).to.include({ is_error: false });
    const [{ kept }] = await service.db.query(
      'SELECT count(*)::integer AS kept FROM kept_workspaces WHERE session_id = $1',
      [id],
    );
    expect(kept).to.equal(0);
    // Both delivered files of 2 bytes, that of the tree and its delivery.
    const grown = (await manifestBytes()) - manifestBefore;
    expect(await sum()).to.equal(max - 500_000 - 1_000_000 + 900_000 + 4 + grown);
    const { status } = await service.api('DELETE', `/v1/sessions/${id}`);
    expect(status).to.equal(204);
  });
});
