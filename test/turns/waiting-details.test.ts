import { expect } from 'chai';
import { streaming } from '../support/open-turn.js';
import { failure, text, toolUse, wait } from '../support/scripted-model.js';
import { upload } from '../support/upload.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';

/** decisions.md "Messages while a turn runs": what holds for the turns that messages which wait and continue begin. */
describe('the turn of a message that waited', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  const post = async (sessionId: string, body: object) => {
    const answer = await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'More', ...body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body;
  };
  const idle = async (id: string): Promise<void> => {
    for (;;) {
      await service.ended(id);
      const { queue, status } = (await service.api('GET', `/v1/sessions/${id}`)).body;
      if (queue.length === 0 && status !== 'RUNNING') return;
    }
  };
  const lastRequest = (): string => JSON.stringify(service.model.requests.at(-1)!.body);

  it('the turn of a message that waited has its files as they were when it was sent, also after they were deleted', async () => {
    const { sessionId, gate } = await streaming(service);
    const file = (await upload(service, 'list.csv', 'name,count\npears,4\n')).body as { id: string };
    const receipt = await post(sessionId, { when_running: 'queue', files: [file.id] });
    expect((await service.api('DELETE', `/v1/files/${file.id}`)).status).to.equal(204);
    service.model.reply('Done.');
    gate.open();
    await idle(sessionId);
    const event = (await service.history(sessionId)).find(({ id }) => id === receipt.id);
    expect(event.files).to.deep.equal(receipt.files);
    expect(event.files[0]).to.include({ id: file.id, filename: 'list.csv' });
    // A deleted attachment is one line of text to the model.
    expect(lastRequest()).to.include('list.csv').and.not.include('pears');
  });

  it('the turn of a message that waited counts queued_ms from its start', async () => {
    const { sessionId, gate } = await streaming(service);
    await post(sessionId, { when_running: 'queue' });
    const [sent]: [{ n: number }[], number] = await service.db.query(
      "UPDATE waiting_messages SET created_at = created_at - interval '1 hour' WHERE session_id = $1 RETURNING 1 AS n",
      [sessionId],
    );
    expect(sent).to.have.length(1);
    service.model.reply('Done.');
    gate.open();
    await idle(sessionId);
    const { timing } = (await service.history(sessionId)).at(-1);
    expect(timing.total_ms).to.be.lessThan(3_600_000);
    expect(timing.queued_ms).to.be.at.most(timing.total_ms);
  });

  it('the turn of a message that waited shows the model and thinking that were asked for, and only these', async () => {
    const { sessionId, gate } = await streaming(service);
    const asked = await post(sessionId, { when_running: 'queue', model_id: 'scripted', thinking_enabled: true });
    const plain = await post(sessionId, { when_running: 'queue' });
    service.model.reply('Done.', 'Done.');
    gate.open();
    await idle(sessionId);
    const shown = new Map((await service.history(sessionId)).map((event) => [event.id, event]));
    expect(shown.get(asked.id)).to.include({ model_id: 'scripted', thinking_enabled: true });
    expect(shown.get(plain.id)).not.to.have.any.keys('model_id', 'thinking_enabled');
  });

  it('the turn of a message that waited that is continued keeps its files, model and thinking', async () => {
    const file = (await upload(service, 'list.csv', 'name,count\npears,4\n')).body as { id: string };
    const sessionId = await service.session({ thinking_enabled: true });
    service.model.reply(failure('invalid_request_error'));
    await post(sessionId, { files: [file.id], model_id: 'scripted', thinking_enabled: false });
    expect((await service.ended(sessionId)).type).to.equal('turn.failed');
    service.model.reply(toolUse('read_file', { file_id: file.id }), 'Four pears.');
    const { body } = await service.api('POST', `/v1/sessions/${sessionId}/continue`);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: body.turn_id });
    expect(lastRequest()).to.include('pears,4');
    for (const request of service.model.requests.slice(-2)) expect(request.body).not.to.have.property('thinking');
    const turn = (await service.api('GET', `/v1/sessions/${sessionId}/turns/${body.turn_id}`)).body;
    expect(turn.model_id).to.equal('scripted');
  });

  it('the turn of a message that waited that is cancelled may be continued again and again, while others wait', async () => {
    const half = [text('Half'), wait(600_000)];
    service.model.reply(half, half, 'Whole.', 'Steered.', 'Queued.');
    const sessionId = await service.session();
    await service.send(sessionId, 'Work');
    await service.model.request(0);
    const waiting = [
      await post(sessionId, { when_running: 'queue' }),
      await post(sessionId, { when_running: 'steer' }),
    ];
    for (const calls of [1, 2]) {
      await service.model.request(calls - 1);
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
      const { body } = await service.api('GET', `/v1/sessions/${sessionId}`);
      expect(body).to.deep.include({ continuable: true, queue: { length: 2, state: 'held' } });
      expect((await service.api('POST', `/v1/sessions/${sessionId}/continue`)).status).to.equal(201);
    }
    await idle(sessionId);
    const events = await service.history(sessionId);
    const order = events.filter(({ type }) => /^(user|turn)\./.test(type)).map(({ type, id }) => [type, id]);
    expect(order.map(([type]) => type)).to.deep.equal([
      ...['user.message', 'turn.cancelled', 'turn.continued', 'turn.cancelled', 'turn.continued', 'turn.completed'],
      ...['user.message', 'turn.completed', 'user.message', 'turn.completed'],
    ]);
    const delivered = order.filter(([type]) => type === 'user.message').map(([, id]) => id as string);
    expect(delivered.slice(1)).to.deep.equal([waiting[1].id, waiting[0].id]);
  });
});
