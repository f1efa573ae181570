import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { streaming } from '../support/open-turn.js';
import { message, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startTurnService } from '../support/turns.js';
import { upload } from '../support/upload.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { expectAcceptedRequests, useMcpServer, useTurnService } from '../support/use.js';

/** decisions.md "Messages while a turn runs": what a message that waits may carry, when it is refused, and the moments at which it is delivered. */
describe('messages that wait', () => {
  const mcp = useMcpServer({ tools: [{ name: 'send', run: () => 'sent' }] });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  expectAcceptedRequests(service);

  const post = (sessionId: string, body: object, headers: Record<string, string> = {}) =>
    service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'More', ...body }, headers);
  const messages = async (id: string) => (await service.history(id)).filter(({ type }) => type === 'user.message');
  const queue = async (id: string) => (await service.api('GET', `/v1/sessions/${id}/queue`)).body.items;
  const toldLast = (): string => JSON.stringify(service.model.requests.at(-1)!.body.messages.at(-1));
  const fileWith = async (content: string) =>
    (await upload(service, 'list.csv', content)).body as { id: string; filename: string };

  it('messages that wait name a model that exists, whatever they do with an open turn', async () => {
    const idle = await service.session();
    const { sessionId } = await streaming(service);
    for (const [id, when_running] of [
      [idle, 'reject'],
      [idle, 'queue'],
      [sessionId, 'queue'],
    ] as const) {
      const { status, body } = await post(id, { when_running, model_id: 'none' });
      expect(status, when_running).to.equal(422);
      expect(body.error).to.deep.include({ type: 'unknown_model', details: { available_models: ['scripted'] } });
    }
    expect(await queue(sessionId)).to.deep.equal([]);
    expect(await messages(idle)).to.deep.equal([]);
  });

  it('messages that wait stay held when a release or continue finds no room in the project', async () => {
    const api = service.as(await service.newKey({ project: `narrow-${randomUUID()}`, maxRunningTurns: 1 }));
    const create = async () => (await api('POST', '/v1/sessions', { model_id: 'scripted' })).body.id as string;
    const ask = (id: string, operation: string, body?: object) => api('POST', `/v1/sessions/${id}/${operation}`, body);
    const [held, other] = [await create(), await create()];
    const first = service.model.gate();
    const second = service.model.gate();
    service.model.reply([text('One', { before: { 0: wait(first) } })], [text('One', { before: { 0: wait(second) } })]);
    await ask(held, 'messages', { content: 'First' });
    await first.reached;
    await ask(held, 'messages', { content: 'Held', when_running: 'queue' });
    await ask(held, 'cancel');
    const session = async () => (await api('GET', `/v1/sessions/${held}`)).body;
    await eventually('the turn is cancelled', async () => (await session()).status === 'CANCELLED');
    await ask(other, 'messages', { content: 'Other' });
    await second.reached;
    const before = await session();
    for (const operation of ['queue/release', 'continue']) {
      const { status, body } = await ask(held, operation);
      expect([status, body.error.type], operation).to.deep.equal([429, 'too_many_running_turns']);
      expect(body.error.details).to.deep.equal({ max_running_turns: 1 });
      expect(await session()).to.deep.equal(before);
    }
    second.open();
    await eventually('the other turn has ended', async () => {
      const { body } = await api('GET', `/v1/sessions/${other}`);
      return body.status === 'COMPLETE';
    });
    expect((await ask(held, 'queue/release')).status).to.equal(200);
    // Else its call takes the reply of the next test.
    await eventually('the message that was held is answered', async () => (await session()).status === 'COMPLETE');
  });

  it('messages that wait are stored once for one Idempotency-Key, and its receipt is repeated', async () => {
    const { sessionId, gate } = await streaming(service);
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await post(sessionId, { when_running: 'queue' }, key);
    const again = await post(sessionId, { when_running: 'queue' }, key);
    expect([first.status, again.status]).to.deep.equal([201, 201]);
    expect(again.body).to.deep.equal(first.body);
    expect(await queue(sessionId)).to.deep.equal([first.body]);
    const other = await post(sessionId, { when_running: 'steer' }, key);
    expect([other.status, other.body.error.type]).to.deep.equal([422, 'idempotency_key_reused']);
    const withdrawn = await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${first.body.id}`);
    expect(withdrawn.status, JSON.stringify(withdrawn.body)).to.equal(204);
    gate.open();
    await service.ended(sessionId);
    expect(await messages(sessionId)).to.have.length(1);
  });

  it('messages that wait steer with files, which the model sees', async () => {
    const { sessionId, turnId, gate } = await streaming(service, { then: [toolUse('list_files')] });
    const file = await fileWith('name,count\npears,4\n');
    const { status, body } = await post(sessionId, { when_running: 'steer', files: [file.id] });
    expect(status).to.equal(201);
    expect(body.files[0]).to.include({ id: file.id, filename: 'list.csv' });
    service.model.reply(toolUse('read_file', { file_id: file.id }), 'Done.');
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: turnId });
    const [, steered] = await messages(sessionId);
    expect(steered).to.deep.include({ id: body.id, delivered_at_step: 2, files: body.files });
    expect(JSON.stringify(service.model.requests.at(-2)!.body.messages.at(-1))).to.include(file.id);
    expect(toldLast()).to.include('pears,4');
  });

  it('messages that wait steer a turn that waits for a person, and wait with it', async () => {
    const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'mail', url: mcp.url });
    service.model.on(/Go/, steps(message([toolUse('mcp__mail__send', {}, { id: 'toolu_1' })]), 'Done.'));
    const sessionId = await service.session({
      thinking_enabled: false,
      mcp_servers: [server.id],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: server.id,
          configs: [{ name: 'send', permission_policy: { type: 'always_ask' } }],
        },
      ],
    });
    const turnId = await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId);
    const { body } = await post(sessionId, { when_running: 'steer' });
    expect(body).to.include({ state: 'steering', turn_id: turnId });
    // It answers nothing.
    expect(await requiredActions(service, sessionId)).to.have.length(1);
    expect(await queue(sessionId)).to.deep.equal([body]);
    expect(mcp.calls).to.deep.equal([]);
    await sendAnswers(service, sessionId, [confirmation('toolu_1', 'allow')]);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: turnId });
    const types = (await service.history(sessionId)).map(({ type }) => type as string);
    expect(types.lastIndexOf('user.message')).to.equal(types.indexOf('agent.tool_result') + 1);
    expect(toldLast()).to.match(/tool_result.*sent.*More/);
  });

  it('messages that wait steer a turn before its first model call: they are delivered at step 1', async () => {
    const late = await startTurnService({ workers: 0 });
    try {
      const sessionId = await late.session();
      const turnId = await late.send(sessionId, 'Go');
      for (const content of ['Also in red', 'And large'])
        await late.send(sessionId, content, { when_running: 'steer' });
      late.model.reply('Done.');
      await late.startWorker();
      expect(await late.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: turnId });
      const said = (await late.history(sessionId)).filter(({ type }) => type === 'user.message');
      expect(said.map(({ content, delivered_at_step: step }) => [content, step])).to.deep.equal([
        ['Go', undefined],
        ['Also in red', 1],
        ['And large', 1],
      ]);
      expect(late.model.requests).to.have.length(1);
      expect(late.model.refused).to.deep.equal([]);
      expect(JSON.stringify(late.model.requests[0]!.body.messages)).to.match(/Go.*Also in red.*And large/);
    } finally {
      await late.close();
    }
  });
});
