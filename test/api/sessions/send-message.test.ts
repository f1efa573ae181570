import { expect } from 'chai';
import { skillMd } from '../../src/skills/zip.js';
import type { Scope } from '../../../src/projects/permissions.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

const NO_SKILL = 'skill_00000000000000000000000000';
const NO_FILE = 'file_00000000000000000000000000';

/** decisions.md "Resources", "Message `content`", "Message `files` / `skills`"; "HTTP", "Order of checks". */
describe('send a message', () => {
  let service: TurnService;
  let fileIds: string[];
  let skillIds: string[];
  before(async () => {
    // No worker: a turn stays queued, nothing of what is tested runs.
    service = await startTurnService({ workers: 0 });
    fileIds = await Promise.all(Array.from({ length: 21 }, (_, n) => uploaded('files', `${n}.txt`, 'content')));
    skillIds = await Promise.all(
      Array.from({ length: 21 }, (_, n) => uploaded('skills', 'SKILL.md', skillMd(`skill-${n}`, 'About it.', 'Body.'))),
    );
  });
  after(() => service.close());

  async function uploaded(collection: string, filename: string, content: string): Promise<string> {
    const form = new FormData();
    form.set('file', new Blob([content]), filename);
    const { status, body } = await service.api('POST', `/v1/${collection}`, form);
    expect(status).to.equal(201);
    return body.id as string;
  }
  /** Sends a body to a new session. */
  const send = async (body: unknown, api = service.api) =>
    api('POST', `/v1/sessions/${await service.session()}/messages`, body);
  const outcome = async (body: unknown, api = service.api): Promise<string> => {
    const answer = await send(body, api);
    return `${answer.status} ${answer.body.error?.type ?? answer.body.type}`;
  };
  const holding = async (...scopes: Scope[]) =>
    service.as(await service.newKey({ scopes: ['sessions:write', ...scopes] }));

  it('sending a message answers 201 with the user.message event, at once', async () => {
    const sessionId = await service.session();
    const { status, body } = await service.api('POST', `/v1/sessions/${sessionId}/messages`, {
      content: ' Hello\n👋 ',
    });
    expect(status).to.equal(201);
    expect(Object.keys(body)).to.deep.equal(['id', 'type', 'turn_id', 'created_at', 'content', 'files', 'skills']);
    expect(body).to.deep.include({ type: 'user.message', content: ' Hello\n👋 ', files: [], skills: [] });
    expect(body.id).to.match(/^evt_[0-9a-z]{26}$/);
    expect(body.turn_id).to.match(/^turn_[0-9a-z]{26}$/);
    expect(await service.history(sessionId)).to.deep.equal([body]);
    const session = await service.api('GET', `/v1/sessions/${sessionId}`);
    expect(session.body).to.include({ status: 'RUNNING', last_turn_id: body.turn_id });
    const stream = await service.stream(sessionId);
    expect((await stream.until(() => true)).data).to.deep.equal(body);
    stream.close();
  });

  for (const [what, content, expected] of [
    ['one character', 'x', '201 user.message'],
    ['100,000 characters', 'x'.repeat(100_000), '201 user.message'],
    ['100,000 characters of four bytes', '😀'.repeat(100_000), '201 user.message'],
    ['one more', 'x'.repeat(100_001), '422 validation_error'],
    ['one more of four bytes', '😀'.repeat(100_001), '422 validation_error'],
    ['nothing', '', '422 validation_error'],
    ['white space', ' \n\t\r\u00a0\u2003 ', '422 validation_error'],
    ['a number', 7, '422 validation_error'],
    ['null', null, '422 validation_error'],
    ['NUL', 'a\0b', '422 validation_error'],
    ['a lone surrogate', 'a\ud800b', '422 validation_error'],
  ] as const) {
    it(`a message whose content is ${what} gets ${expected}`, async () =>
      expect(await outcome({ content })).to.equal(expected));
  }

  it('sending a message requires content, and refuses unknown fields', async () => {
    const missing = await send({});
    expect(missing.status).to.equal(422);
    expect(missing.body.error.details.errors[0].path).to.be.oneOf(['', '/content']);
    expect(await outcome({ content: 'x', role: 'user' })).to.equal('422 validation_error');
    expect(await outcome([])).to.equal('422 validation_error');
    expect(await outcome({ content: 'x', files: null })).to.equal('422 validation_error');
    expect(await outcome({ content: 'x', skills: 'all' })).to.equal('422 validation_error');
  });

  it('sending a message takes up to 20 files and skills, in their order, as they are now', async () => {
    const { status, body } = await send({
      content: 'x',
      files: fileIds.slice(0, 20).reverse(),
      skills: skillIds.slice(0, 20).reverse(),
    });
    expect(status).to.equal(201);
    expect(body.files.map(({ id }: { id: string }) => id)).to.deep.equal(fileIds.slice(0, 20).reverse());
    expect(body.files[19]).to.deep.equal({ id: fileIds[0], filename: '0.txt', mime_type: 'text/plain', size_bytes: 7 });
    expect(body.skills.map(({ id }: { id: string }) => id)).to.deep.equal(skillIds.slice(0, 20).reverse());
    expect(body.skills[19]).to.deep.equal({ id: skillIds[0], name: 'skill-0', description: 'About it.' });
    expect(await outcome({ content: 'x', files: fileIds })).to.equal('422 validation_error');
    expect(await outcome({ content: 'x', skills: skillIds })).to.equal('422 validation_error');
  });

  it('sending a message takes a skill in three forms, once', async () => {
    const [a, b, c] = skillIds;
    const { body } = await send({ content: 'x', skills: [a, { id: b }, { skill_id: c }] });
    expect(body.skills.map(({ id }: { id: string }) => id)).to.deep.equal([a, b, c]);
    const twice = await send({ content: 'x', skills: [a, { id: b }, { skill_id: a }] });
    expect(twice.body.error).to.deep.include({ type: 'validation_error' });
    expect(twice.body.error.details.errors[0].path).to.equal('/skills/2');
    for (const skill of [{ id: a, skill_id: a }, { id: a, name: 'x' }, {}, 7, null, [a]]) {
      expect(await outcome({ content: 'x', skills: [skill] }), JSON.stringify(skill)).to.equal('422 validation_error');
    }
    expect(await outcome({ content: 'x', files: [fileIds[0], fileIds[0]] })).to.equal('422 validation_error');
    expect(await outcome({ content: 'x', files: [{ id: fileIds[0] }] })).to.equal('422 validation_error');
  });

  it('sending a message lists every file, or every skill, that is missing', async () => {
    const missingFiles = await send({ content: 'x', files: [fileIds[0], NO_FILE, 'nonsense'], skills: [NO_SKILL] });
    expect(missingFiles.status).to.equal(404);
    expect(missingFiles.body.error).to.deep.include({
      type: 'file_not_found',
      details: { file_ids: [NO_FILE, 'nonsense'] },
    });
    const missingSkills = await send({ content: 'x', skills: ['nonsense', skillIds[0], { id: NO_SKILL }] });
    expect(missingSkills.status).to.equal(404);
    expect(missingSkills.body.error).to.deep.include({
      type: 'skill_not_found',
      details: { skill_ids: ['nonsense', NO_SKILL] },
    });
  });

  it('sending a message finds neither files nor skills of another project', async () => {
    const stranger = service.as(await service.newKey({ project: 'stranger' }));
    const { body: session } = await stranger('POST', '/v1/sessions', { model_id: 'scripted' });
    const post = async (body: unknown) =>
      (await stranger('POST', `/v1/sessions/${session.id}/messages`, body)).body.error;
    expect(await post({ content: 'x', files: [fileIds[0]] })).to.include({ type: 'file_not_found' });
    expect(await post({ content: 'x', skills: [skillIds[0]] })).to.include({ type: 'skill_not_found' });
  });

  it('sending a message requires files:read and skills:read for the files and skills it names, but not for empty arrays', async () => {
    expect(await outcome({ content: 'x' }, await holding())).to.equal('201 user.message');
    expect(await outcome({ content: 'x', files: [], skills: [] }, await holding())).to.equal('201 user.message');
    const files = await send({ content: 'x', files: [NO_FILE] }, await holding('skills:read'));
    expect(files.body.error).to.deep.include({ type: 'insufficient_scope', details: { required: 'files:read' } });
    const skills = await send({ content: 'x', files: [NO_FILE], skills: [NO_SKILL] }, await holding('files:read'));
    expect(skills.body.error).to.deep.include({ type: 'insufficient_scope', details: { required: 'skills:read' } });
    const both = await holding('files:read', 'skills:read');
    expect(await outcome({ content: 'x', files: [fileIds[0]], skills: [skillIds[0]] }, both)).to.equal(
      '201 user.message',
    );
    const reader = service.as(await service.newKey({ scopes: ['sessions:read'] }));
    expect(await outcome({ content: 'x' }, reader)).to.equal('403 insufficient_scope');
  });

  it('sending a message checks in the order of the contract', async () => {
    const sessionId = await service.session();
    await service.send(sessionId, 'first');
    const post = async (body: unknown, api = service.api) =>
      (await api('POST', `/v1/sessions/${sessionId}/messages`, body)).body.error.type as string;
    expect(await post({ content: '' })).to.equal('validation_error');
    expect(await post({ content: 'x', files: [NO_FILE] }, await holding())).to.equal('insufficient_scope');
    expect(await post({ content: 'x', files: [NO_FILE] })).to.equal('file_not_found');
    expect(await post({ content: 'x', skills: [NO_SKILL] })).to.equal('skill_not_found');
    expect(await post({ content: 'x' })).to.equal('session_running');
  });

  it('sending a message answers 404 for a session that is gone, whatever else is wrong, and also where it would repeat an answer', async () => {
    const gone = await service.session();
    const key = { 'Idempotency-Key': 'of a session that is gone' };
    const post = (body: unknown, headers: Record<string, string> = {}, api = service.api) =>
      api('POST', `/v1/sessions/${gone}/messages`, body, headers);
    const { body: first } = await post({ content: 'x' }, key);
    await service.api('POST', `/v1/sessions/${gone}/cancel`);
    await service.ended(gone);
    expect((await post({ content: 'x' }, key)).body).to.deep.equal(first);
    await service.api('DELETE', `/v1/sessions/${gone}`);
    const noFile = { content: 'x', files: [NO_FILE] };
    for (const answer of [
      await post({ content: 'x' }),
      await post({ content: 'x', when_running: 'queue' }),
      await post({ content: '' }),
      await post('{'),
      await post('x', { 'Content-Type': 'text/plain' }),
      await post(noFile, {}, await holding()),
      await post(noFile),
      await post({ content: 'x', model_id: 'none' }),
      await post({ content: 'x' }, key),
      await post({ content: 'other' }, key),
      await post({ content: 'x' }, { 'Idempotency-Key': 'new' }),
    ]) {
      const { type, message } = answer.body.error;
      expect([answer.status, type, message]).to.deep.equal([404, 'session_not_found', 'There is no such session.']);
      expect(answer.headers.get('idempotency-replayed')).to.equal(null);
    }
    const kept = await service.db.query<unknown[]>(`SELECT FROM idempotency_records WHERE key = 'new'`);
    expect(kept).to.have.length(0);
  });

  it('sending a message keeps the recorded file and skill in the event after they are deleted', async () => {
    const fileId = await uploaded('files', 'gone.txt', 'x');
    const skillId = await uploaded('skills', 'SKILL.md', skillMd('gone', 'Gone soon.', 'x'));
    const sessionId = await service.session();
    await service.send(sessionId, 'x', { files: [fileId], skills: [skillId] });
    await service.api('DELETE', `/v1/files/${fileId}`);
    await service.api('DELETE', `/v1/skills/${skillId}`);
    const [event] = await service.history(sessionId);
    expect(event.files[0]).to.include({ id: fileId, filename: 'gone.txt' });
    expect(event.skills[0]).to.include({ id: skillId, name: 'gone' });
    expect(await outcome({ content: 'x', skills: [skillId] })).to.equal('404 skill_not_found');
  });
});
