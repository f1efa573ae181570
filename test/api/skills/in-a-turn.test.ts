import { expect } from 'chai';
import { skillMd, zip } from '../../src/skills/zip.js';
import { steps, toolUse, wait } from '../../support/scripted-model.js';
import { expectAcceptedRequests, useTurnService } from '../../support/use.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface Skill {
  id: string;
  name: string;
  description: string;
}

describe('skills in a turn', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  async function upload(name: string, files: Record<string, string | Buffer> = {}): Promise<Skill> {
    const form = new FormData();
    const entries = { 'SKILL.md': skillMd(name, `About ${name}.`, `Secret of ${name}.\n`), ...files };
    const archive = zip(Object.entries(entries).map(([path, content]) => ({ name: path, content })));
    form.set('file', new Blob([new Uint8Array(archive)]), `${name}.zip`);
    const { status, body } = await service.api('POST', '/v1/skills', form);
    expect(status).to.equal(201);
    return { id: body.id, name: body.name, description: body.description };
  }

  it('a turn with skills shows names first, instructions on use, files on demand', async () => {
    const skill = await upload('report', { 'docs/steps.txt': 'one\ntwo\n', 'logo.png': PNG });
    const { model } = service;
    model.on(
      /report/,
      steps(
        toolUse('use_skill', { name: 'report' }, { id: 'toolu_use' }),
        [
          toolUse('read_skill_file', { skill: 'report', path: 'docs/steps.txt', offset: 1 }, { id: 'toolu_text' }),
          toolUse('read_skill_file', { skill: 'report', path: 'logo.png' }, { id: 'toolu_image' }),
          toolUse('read_skill_file', { skill: 'report', path: '../SKILL.md' }, { id: 'toolu_unsafe' }),
        ],
        'Done.',
      ),
    );
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Make the report', { skills: [skill.id] });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });

    const [first, second, third] = model.requests.map(({ body }) => JSON.stringify(body));
    expect(first).to.include('report: About report.').and.not.to.include('Secret of report');
    expect(second).to.include('Secret of report').and.not.to.include('one\\ntwo');
    expect(third).to.include('two').and.to.include(PNG.toString('base64'));

    const events = await service.history(sessionId);
    expect(events[0].skills).to.deep.equal([skill]);
    const result = (id: string): { is_error: boolean; content: string } =>
      events.find(({ type, tool_use_id }) => type === 'agent.tool_result' && tool_use_id === id);
    expect(result('toolu_use')).to.include({ is_error: false });
    expect(result('toolu_use').content).to.include('Secret of report').and.to.include('- docs/steps.txt (8 bytes)');
    expect(result('toolu_text')).to.include({ is_error: false, content: 'two' });
    expect(result('toolu_image')).to.include({ is_error: false });
    expect(result('toolu_unsafe')).to.include({ is_error: true });
    expect(result('toolu_unsafe').content).to.include('".."');

    await service.send(sessionId, 'And now without');
    await service.ended(sessionId);
    expect(JSON.stringify(model.requests.at(-1)!.body.system)).not.to.include('About report.');
  });

  it('a turn with skills cannot load a skill that is deleted while the turn runs; its snapshot stays', async () => {
    const skill = await upload('short-lived');
    const { model } = service;
    const gate = model.gate();
    model.on(/short/, steps([wait(gate), toolUse('use_skill', { name: 'short-lived' })], 'It is gone.'));
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Use short-lived', { skills: [{ id: skill.id }] });
    await model.request(0);
    expect((await service.api('DELETE', `/v1/skills/${skill.id}`)).status).to.equal(204);
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const events = await service.history(sessionId);
    const result = events.find(({ type }) => type === 'agent.tool_result');
    expect(result).to.include({ is_error: true });
    expect(result.content).to.match(/cannot load/);
    expect(events[0].skills).to.deep.equal([skill]);
  });
});
