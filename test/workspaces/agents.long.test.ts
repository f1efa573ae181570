import { expect } from 'chai';
import { newAgent } from '../support/agents.js';
import { skillMd, zip } from '../src/skills/zip.js';
import { steps, text, toolUse } from '../support/scripted-model.js';
import { newToken } from '../support/tokens.js';
import { useWorkspaceService } from '../support/workspace-service.js';

/** decisions.md "Agents": what a page with a session token may use. */
describe('a workspace of an agent', function () {
  this.timeout(120_000);
  const { service } = useWorkspaceService();

  const push = async (script: string): Promise<void> => {
    const form = new FormData();
    const entries = { 'SKILL.md': skillMd('parcel', 'What a parcel costs.'), 'parcel.sh': script };
    const archive = zip(Object.entries(entries).map(([name, content]) => ({ name, content })));
    form.set('file', new Blob([new Uint8Array(archive)]), 'parcel.zip');
    expect((await service.api('POST', '/v1/skills?replace=true', form)).status).to.equal(201);
  };
  const run = async (id: string, content: string): Promise<string> => {
    const token = service.as(await newToken(service, id));
    expect((await token('POST', `/v1/sessions/${id}/messages`, { content })).status).to.equal(201);
    await service.ended(id);
    return (await service.history(id)).findLast(({ type }) => type === 'agent.tool_result').content as string;
  };

  it('a workspace of an agent runs the script of its skill for a page with a token, and that of the skill that was pushed since', async () => {
    await push('echo "first $1"');
    const tools = [{ type: 'workspace' }];
    const agent = await newAgent(service.api, { model_id: 'scripted', tools, skills: [{ name: 'parcel' }] });
    const { body } = await service.api('POST', '/v1/sessions', { agent: { id: agent.id, version: 'live' } });
    expect(body.workspace).to.include({ version: 0 });
    service.model.on(/Price/, steps(toolUse('bash', { command: 'sh /mnt/skills/parcel/parcel.sh 12' }), 'Done.'));
    expect(await run(body.id as string, 'Price?')).to.include('first 12');
    await push('echo "second $1"');
    expect(await run(body.id as string, 'Price again?')).to.include('second 12');
  });

  it('a workspace of an agent comes with a later version, empty, and its tree stays readable without the entry', async () => {
    const agent = await newAgent(service.api, { model_id: 'scripted' });
    const { body } = await service.api('POST', '/v1/sessions', { agent: { id: agent.id, version: 'live' } });
    const id = body.id as string;
    const read = () => service.api('GET', `/v1/sessions/${id}/workspace/content?path=/workspace/a.txt`);
    expect([body.workspace, (await read()).body.error.type]).to.deep.equal([null, 'workspace_not_found']);
    await service.api('PATCH', `/v1/agents/${agent.id}`, { tools: [{ type: 'workspace' }] });
    service.model.on(/Write/, steps(toolUse('bash', { command: 'echo kept > /workspace/a.txt' }), 'Done.'));
    await service.run(id, 'Write it');
    expect((await service.api('GET', `/v1/sessions/${id}`)).body.workspace).to.include({ version: 1, file_count: 1 });
    expect((await read()).status).to.equal(200);
    await service.api('PATCH', `/v1/agents/${agent.id}`, { tools: [] });
    service.model.on(/Without/, text('Done.'));
    await service.run(id, 'Without it');
    const offered = JSON.stringify(service.model.requests.at(-1)!.body.tools);
    expect(offered).to.not.include('"bash"');
    expect((await read()).status).to.equal(200);
    const { body: moved } = await service.api('PATCH', `/v1/sessions/${id}`, { agent: { id: agent.id, version: 2 } });
    expect(moved.workspace).to.include({ version: 1 });
    const fork = (await service.api('POST', `/v1/sessions/${id}/fork`)).body;
    expect(fork.workspace).to.include({ version: 1 });
  });
});
