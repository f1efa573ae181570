import { expect } from 'chai';
import { freePort } from '../../src/platform/free-port.js';
import { startPythonServer } from '../support/mcp-python/start.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';

/** decisions.md "Tasks and elicitation" against servers that are not of the SDK that the service uses. */
describe('turns with servers of the Python SDK', () => {
  let service: TurnService | undefined;
  const stops: (() => Promise<void>)[] = [];
  const serverIds: string[] = [];

  before(async function () {
    if (process.env.MCP_PYTHON === undefined) skip(this, 'needs the Python SDK; npm run check -- mcp-python');
    const ports = [await freePort(), await freePort()];
    stops.push(await startPythonServer('server.py', ports[0]!), await startPythonServer('tasks.py', ports[1]!));
    service = await startTurnService({ config: { mcpAllowedHosts: ports.map((port) => `127.0.0.1:${port}`) } });
    for (const [index, name] of ['shop', 'ops'].entries()) {
      const url = `http://127.0.0.1:${ports[index]}/mcp`;
      const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url });
      expect(status, JSON.stringify(body)).to.equal(201);
      serverIds.push(body.id as string);
    }
  });
  after(async () => {
    await service?.close();
    for (const stop of stops) await stop();
  });
  afterEach(() => service?.model.reset());

  const start = async (tool: string, input = {}): Promise<string> => {
    service!.model.on(/Go/, steps([toolUse(`mcp__${tool}`, input, { id: 'toolu_1' })], 'Done.'));
    const tools = serverIds.map((id) => ({ type: 'mcp_toolset', mcp_server_id: id, elicitation: true }));
    const sessionId = await service!.session({ mcp_servers: serverIds, tools });
    await service!.send(sessionId, 'Go');
    return sessionId;
  };
  const answer = async (sessionId: string, action: string, content?: object) => {
    const [asked] = await requiredActions(service!, sessionId);
    const event = { type: 'user.elicitation_result', elicitation_id: asked.elicitation_id, action, content };
    const { status, body } = await sendAnswers(service!, sessionId, [event]);
    expect(status, JSON.stringify(body)).to.equal(201);
    return asked;
  };
  const result = async (sessionId: string) => {
    expect(await service!.ended(sessionId)).to.include({ type: 'turn.completed' });
    return (await service!.history(sessionId)).find(({ type }) => type === 'agent.tool_result');
  };

  it('turns with servers of the Python SDK answer the form of a tool', async () => {
    const sessionId = await start('shop__order');
    const asked = await answer(sessionId, 'accept', { city: 'Rome' });
    expect(asked).to.include({ mode: 'form', message: 'Where to?' });
    expect(asked.requested_schema.properties.city).to.include({ type: 'string', description: 'Where to?' });
    expect((await result(sessionId)).content)
      .to.include('accept')
      .and.include('"city":"Rome"');
  });

  it('turns with servers of the Python SDK show the address that a tool wants opened', async () => {
    const sessionId = await start('shop__pay');
    const asked = await answer(sessionId, 'decline');
    expect(asked).to.include({ mode: 'url', url: 'https://pay.example.com/1' });
    expect((await result(sessionId)).content).to.include('decline');
  });

  it('turns with servers of the Python SDK store the result of a task', async () => {
    const { content, is_error } = await result(await start('ops__build'));
    expect([content, is_error]).to.deep.equal(['Built.', false]);
  });

  it('turns with servers of the Python SDK store why a task failed', async () => {
    const { content, is_error } = await result(await start('ops__build', { ask: 'fail' }));
    expect(is_error).to.equal(true);
    expect(content).to.include('No space left.');
  });

  it('turns with servers of the Python SDK answer the form of a task', async () => {
    const sessionId = await start('ops__build', { ask: 'form' });
    expect(await answer(sessionId, 'accept', { branch: 'main' })).to.include({
      mode: 'form',
      message: 'Which branch?',
    });
    expect(JSON.parse((await result(sessionId)).content as string)).to.deep.equal({
      action: 'accept',
      content: { branch: 'main' },
    });
  });

  it('turns with servers of the Python SDK show the address that a task wants opened', async () => {
    const sessionId = await start('ops__build', { ask: 'url' });
    expect(await answer(sessionId, 'accept')).to.include({ mode: 'url', url: 'https://pay.example.com/1' });
    expect(JSON.parse((await result(sessionId)).content as string)).to.include({ action: 'accept' });
  });
});
