import { expect } from 'chai';
import { streaming } from '../support/open-turn.js';
import { reachedLimit } from '../support/rows.js';
import { steps, streamError, text, toolUse, wait } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';

/** decisions.md "Messages while a turn runs", "A message while a turn is open": the queue. */
describe('messages that queue', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  const post = (sessionId: string, content: string, more: object = { when_running: 'queue' }) =>
    service.api('POST', `/v1/sessions/${sessionId}/messages`, { content, ...more });
  const session = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const queue = async (id: string) => (await service.api('GET', `/v1/sessions/${id}/queue`)).body.items;
  const release = (id: string) => service.api('POST', `/v1/sessions/${id}/queue/release`);
  const contentsOf = async (id: string): Promise<unknown[]> =>
    (await service.history(id)).filter(({ type }) => type === 'user.message').map(({ content }) => content);
  const cancel = async (id: string) => {
    await service.api('POST', `/v1/sessions/${id}/cancel`);
    await service.ended(id);
  };
  const allEnded = async (id: string, turns: number): Promise<void> => {
    for (;;) {
      await service.ended(id);
      const { last_turn_id, queue: left, status } = await session(id);
      const { items } = (await service.api('GET', `/v1/sessions/${id}/turns?limit=100`)).body;
      if (items.length === turns && left.length === 0 && status !== 'RUNNING' && last_turn_id === items[0].id) return;
    }
  };

  it('messages that queue become turns of their own, in order, with the ids of their receipts', async () => {
    const { sessionId, gate } = await streaming(service);
    const receipts = [await post(sessionId, 'Second'), await post(sessionId, 'Third')];
    for (const { status, body } of receipts) {
      expect(status).to.equal(201);
      expect(body).to.include({ type: 'user.message', state: 'queued' });
    }
    expect(await queue(sessionId)).to.deep.equal(receipts.map(({ body }) => body));
    expect((await session(sessionId)).queue).to.deep.equal({ length: 2, state: 'open' });
    gate.open();
    await allEnded(sessionId, 3);
    const messages = (await service.history(sessionId)).filter(({ type }) => type === 'user.message');
    expect(messages.map(({ content }) => content)).to.deep.equal(['Count', 'Second', 'Third']);
    for (const [n, { body }] of receipts.entries()) {
      const { state: _, created_at, ...receipt } = body;
      expect(messages[n + 1]).to.deep.include(receipt);
      expect(messages[n + 1].created_at > created_at).to.equal(true);
    }
    expect((await session(sessionId)).queue).to.deep.equal({ length: 0, state: 'open' });
  });

  it('messages that queue show no end between two turns', async () => {
    const { sessionId, gate } = await streaming(service);
    const next = await streaming(service, { sessionId, when_running: 'queue', content: 'Next', waits: true });
    const states = new Set<string>();
    gate.open();
    let over = false;
    void next.gate.reached.then(() => (over = true));
    while (!over) states.add((await session(sessionId)).status);
    expect([...states]).to.deep.equal(['RUNNING']);
    next.gate.open();
    await allEnded(sessionId, 2);
  });

  it('messages that queue start a turn at once without an open one', async () => {
    const sessionId = await service.session();
    for (const when_running of ['queue', 'steer', 'reject']) {
      const { status, body } = await post(sessionId, `By ${when_running}`, { when_running });
      expect(status).to.equal(201);
      expect(body).not.to.have.property('state');
      expect((await service.ended(sessionId)).turn_id).to.equal(body.turn_id);
    }
  });

  it('messages that queue are held after a cancel, and released', async () => {
    const { sessionId } = await streaming(service);
    const { body } = await post(sessionId, 'Later');
    await cancel(sessionId);
    expect(await session(sessionId)).to.deep.include({ status: 'CANCELLED', queue: { length: 1, state: 'held' } });
    const released = await release(sessionId);
    expect(released.status).to.equal(200);
    expect(released.body).to.deep.include({ last_turn_id: body.turn_id, queue: { length: 0, state: 'open' } });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: body.turn_id });
    expect((await release(sessionId)).body).to.deep.equal(await session(sessionId));
  });

  it('messages that queue are held after a failure; a message that does not queue runs first and opens the queue', async () => {
    for (const when_running of ['reject', 'steer']) {
      const { sessionId, gate } = await streaming(service, {
        content: 'Fail',
        then: [streamError('invalid_request_error')],
      });
      await post(sessionId, 'Held');
      gate.open();
      expect((await service.ended(sessionId)).type).to.equal('turn.failed');
      expect((await session(sessionId)).queue).to.deep.equal({ length: 1, state: 'held' });
      expect((await post(sessionId, 'First', { when_running })).status).to.equal(201);
      await allEnded(sessionId, 3);
      expect(await contentsOf(sessionId)).to.deep.equal(['Fail', 'First', 'Held']);
    }
  });

  it('messages that queue are opened by one more that queues, which goes to the end', async () => {
    const { sessionId } = await streaming(service);
    for (let n = 0; n < 20; n += 1) await post(sessionId, `Held ${n}`);
    await cancel(sessionId);
    const { status, body } = await post(sessionId, 'Last');
    expect(status).to.equal(201);
    expect(body.state).to.equal('queued');
    await allEnded(sessionId, 22);
    expect((await contentsOf(sessionId)).at(1)).to.equal('Held 0');
    expect((await contentsOf(sessionId)).at(-1)).to.equal('Last');
  });

  it('messages that queue are at most 20, whoever sends them at once', async () => {
    const { sessionId, gate } = await streaming(service);
    const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => post(sessionId, `Message ${n}`)));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(20);
    for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
      expect(status).to.equal(409);
      expect(body.error.type).to.equal('queue_full');
    }
    reachedLimit('waiting messages of a session: 20');
    const waiting = await queue(sessionId);
    expect(waiting).to.have.length(20);
    gate.open();
    await allEnded(sessionId, 21);
    expect((await contentsOf(sessionId)).slice(1)).to.deep.equal(
      waiting.map(({ content }: { content: string }) => content),
    );
  });

  it('messages that queue are one turn at a time, when 20 are sent at once to an idle session', async () => {
    const sessionId = await service.session();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post(sessionId, `Message ${n}`)));
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(201));
    await allEnded(sessionId, 20);
    const messages = (await service.history(sessionId)).filter(({ type }) => type === 'user.message');
    expect(messages.map(({ id }) => id).sort()).to.deep.equal(answers.map(({ body }) => body.id).sort());
    expect(messages.map(({ turn_id }) => turn_id).sort()).to.deep.equal(answers.map(({ body }) => body.turn_id).sort());
  });

  it('messages that queue can be withdrawn until they are delivered', async () => {
    const { sessionId, turnId, gate } = await streaming(service);
    const { body } = await post(sessionId, 'Withdrawn');
    const withdraw = (eventId: string) => service.api('DELETE', `/v1/sessions/${sessionId}/queue/${eventId}`);
    expect((await withdraw(body.id)).status).to.equal(204);
    expect((await withdraw(body.id)).body.error.type).to.equal('message_not_found');
    const first = (await service.history(sessionId))[0];
    expect(first.turn_id).to.equal(turnId);
    const refused = await withdraw(first.id);
    expect(refused.status).to.equal(409);
    expect(refused.body.error.type).to.equal('message_delivered');
    gate.open();
    await service.ended(sessionId);
    expect(await contentsOf(sessionId)).to.deep.equal(['Count']);
  });

  it('messages that queue are listed page by page', async () => {
    const { sessionId } = await streaming(service);
    const receipts = [];
    for (const [content, when_running] of [
      ['b', 'queue'],
      ['c', 'queue'],
      ['a', 'steer'],
    ] as const) {
      receipts.push((await post(sessionId, content, { when_running })).body);
    }
    const list = (cursor = '') =>
      service.api('GET', `/v1/sessions/${sessionId}/queue?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const one = (await list()).body;
    const two = (await list(one.meta.next_cursor)).body;
    expect([...one.items, ...two.items].map(({ content }) => content)).to.deep.equal(['a', 'b', 'c']);
    expect(two.meta.next_cursor).to.equal(null);
    expect((await list('nonsense')).body.error.type).to.equal('invalid_cursor');
  });

  it('messages that queue go with the session', async () => {
    const { sessionId } = await streaming(service);
    await post(sessionId, 'Discarded');
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).body.error.type).to.equal('session_running');
    await cancel(sessionId);
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).status).to.equal(204);
    expect(await service.db.query('SELECT FROM waiting_messages WHERE session_id = $1', [sessionId])).to.have.length(0);
  });

  it('messages that queue need no new place among the running turns of the project', async () => {
    const api = service.as(await service.newKey({ project: 'narrow', maxRunningTurns: 1 }));
    const gate = service.model.gate();
    service.model.reply([text('One two', { before: { 1: wait(gate) } })]);
    const { body: created } = await api('POST', '/v1/sessions', { model_id: 'scripted' });
    const send = (content: string) =>
      api('POST', `/v1/sessions/${created.id}/messages`, { content, when_running: 'queue' });
    await send('One');
    await gate.reached;
    expect((await send('Two')).body.state).to.equal('queued');
    gate.open();
  });

  it('messages that queue carry the model and thinking of their turn', async () => {
    service.model.on(/Second/, steps(toolUse('list_files'), 'Done'));
    const { sessionId, gate } = await streaming(service);
    const { body } = await post(sessionId, 'Second', {
      when_running: 'queue',
      thinking_enabled: false,
      model_id: 'scripted',
    });
    expect(body).to.include({ thinking_enabled: false, model_id: 'scripted' });
    gate.open();
    await allEnded(sessionId, 2);
    expect(service.model.requests.at(-1)!.body).not.to.have.property('thinking');
  });
});
