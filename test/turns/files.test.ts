import { expect } from 'chai';
import { text, toolUse, type Handler } from '../support/scripted-model.js';
import { upload, type FileBody } from '../support/upload.js';
import { useTurnService } from '../support/use.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('a turn with files', () => {
  const service = useTurnService();

  const uploaded = async (name: string, content: string | Buffer): Promise<FileBody> =>
    (await upload(service, name, content)).body as FileBody;
  /** The messages of the last request to the model. */
  const lastMessages = (): string => JSON.stringify(service.model.requests.at(-1)!.body.messages);

  it('a turn with files reads attachments and delivers a file that the user downloads without a key', async () => {
    const table = await uploaded('table.csv', 'name,count\napples,3\n');
    const image = await uploaded('photo.png', PNG);
    const seen: string[] = [];
    const report: Handler = ({ step }) => {
      seen.push(lastMessages());
      if (step === 0) return toolUse('list_files');
      if (step === 1) return toolUse('read_file', { file_id: table.id });
      if (step === 2) return toolUse('deliver_file', { filename: 'Bericht März.md', content: '# Äpfel: 3' });
      return text('Done.');
    };
    service.model.on(/Report/, report);
    const session = await service.session({ thinking_enabled: false });
    await service.send(session, 'Report on it', { files: [table.id, image.id] });
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });

    expect(seen[0]).to.contain(PNG.toString('base64')).and.contain('table.csv').and.not.contain('apples');
    expect(seen[1]).to.contain(`(file_id ${table.id}, text/csv, 20 bytes), attached`);
    expect(seen[2]).to.contain('apples,3');

    const events = await service.history(session);
    const names = events.map((event: { type: string }) => event.type);
    expect(names.filter((type) => type === 'agent.file')).to.have.length(1);
    expect(names[names.indexOf('agent.file') + 1]).to.equal('agent.tool_result');
    const { body } = await service.api('GET', `/v1/files?session_id=${session}&origin=OUTPUT`);
    const [file] = body.items as FileBody[];
    expect(file).to.include({ filename: 'Bericht März.md', mime_type: 'text/markdown', session_id: session });
    expect(events.find((event) => event.type === 'agent.file').file).to.deep.equal({
      id: file!.id,
      filename: 'Bericht März.md',
      mime_type: 'text/markdown',
      size_bytes: file!.size_bytes,
    });
    const { headers } = await service.api('GET', `/v1/files/${file!.id}/content`);
    const download = await fetch(headers.get('location')!);
    expect(await download.text()).to.equal('# Äpfel: 3');
    expect(download.headers.get('content-disposition')).to.contain(`filename*=UTF-8''Bericht%20M%C3%A4rz.md`);

    await service.api('DELETE', `/v1/sessions/${session}`);
    expect((await service.api('GET', `/v1/files/${file!.id}`)).status).to.equal(200);
  });

  it('a turn with files completes when its attachments are deleted or have the wrong type', async () => {
    const gone = await uploaded('gone.png', PNG);
    const broken = await uploaded('broken.png', 'this is no image');
    const kept = await uploaded('kept.txt', 'kept');
    service.model.on(/First/, text('ok'));
    service.model.on(/Second/, ({ step }) => (step === 0 ? toolUse('read_file', { file_id: gone.id }) : text('ok')));
    const session = await service.session({ thinking_enabled: false });
    await service.send(session, 'First', { files: [gone.id, broken.id, kept.id] });
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });
    expect(lastMessages()).to.contain('\\"broken.png\\"').and.contain('it is no image');

    await service.api('DELETE', `/v1/files/${gone.id}`);
    await service.send(session, 'Second', { files: [broken.id] });
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });
    expect(lastMessages()).to.contain('was deleted');
    const sent = (await service.history(session)).find((event) => event.type === 'user.message');
    expect(sent.files.map(({ id }: FileBody) => id)).to.deep.equal([gone.id, broken.id, kept.id]);
  });

  it('a turn with files reads the rest of a result that was too long', async () => {
    const lines = Array.from({ length: 3000 }, (_, line) => `line ${line} ${'x'.repeat(40)}`);
    const long = await uploaded('long.txt', lines.join('\n'));
    service.model.on(/Read all/, ({ step }) => {
      if (step === 0) return toolUse('read_file', { file_id: long.id });
      const note = /read on with offset (\d+)/.exec(lastMessages());
      if (note === null) return text(`there is no note in …${lastMessages().slice(-500)}`);
      return step === 1 ? toolUse('read_file', { file_id: long.id, offset: Number(note[1]) }) : text('ok');
    });
    const session = await service.session({ thinking_enabled: false });
    await service.send(session, 'Read all', { files: [long.id] });
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });
    const answer = (await service.history(session)).find(({ type }) => type === 'agent.message');
    expect(answer.content).to.equal('ok');
    expect(lastMessages()).not.to.contain('The first 16384');
    expect(lastMessages()).to.contain('line 0 ').and.contain('line 1000 ');
  });
});
