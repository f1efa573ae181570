import { expect } from 'chai';
import { text, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

/** decisions.md "Turns and events", "POST cancel while Temporal or every worker is away". */
describe('cancel without a worker', () => {
  let service: TurnService;
  beforeEach(async () => (service = await startTurnService({ workers: 0, config: { shutdownGraceSeconds: 0 } })));
  afterEach(() => service.close());

  it('cancel without a worker ends a queued turn at once without usage; it never runs', async () => {
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Wait for it');
    const stream = await service.stream(sessionId);
    await stream.until(({ event }) => event === 'user.message');
    const { status, body } = await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    expect(status).to.equal(200);
    expect(body.status).to.equal('CANCELLED');
    await stream.ended;
    const end = stream.frames.at(-1)!.data;
    expect(end).to.include({ type: 'turn.cancelled', turn_id: turnId, usage: null, usage_details: null });
    expect(end.timing).to.include({ queued_ms: null, connect_ms: null, model_ms: null, tools_ms: null });

    await service.startWorker();
    const next = await service.session();
    await service.send(next, 'Now');
    expect(await service.ended(next)).to.include({ type: 'turn.completed' });
    expect(service.model.requests.map(({ userText }) => userText)).to.deep.equal([service.model.requests[0]!.userText]);
    expect(service.model.requests[0]!.userText).to.include('Now');

    await service.send(sessionId, 'And now');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.include('was cancelled by the user');
  });

  it('cancel without a worker ends a running turn within 20 s; writes of a late worker are rejected', async () => {
    const worker = await service.startWorker();
    const gate = service.model.gate();
    service.model.reply(text('One two three.', { every: 0, before: { 2: wait(gate) } }));
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Count');
    await gate.reached;
    const stream = await service.stream(sessionId);
    await stream.until(({ data }) => String(data.content).endsWith(' two'));
    await worker.close();
    const before = performance.now();
    expect((await service.api('POST', `/v1/sessions/${sessionId}/cancel`)).body.status).to.equal('RUNNING');
    await stream.ended;
    const took = performance.now() - before;
    console.log(`      POST cancel → turn.cancelled: ${Math.round(took)} ms`);
    expect(took).to.be.lessThan(20_000);
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type)).to.deep.equal(['user.message', 'agent.message', 'turn.cancelled']);
    expect(events[1]).to.include({ content: 'One two', incomplete: true });

    await service.startWorker();
    service.model.reply('Next.');
    await service.send(sessionId, 'Go on');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const ends = (await service.history(sessionId)).filter((event) => event.turn_id === turnId);
    expect(ends).to.have.length(3);
    expect(service.model.requests).to.have.length(2);
  });
});
