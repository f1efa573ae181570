import { expect } from 'chai';
import { streaming } from '../support/open-turn.js';
import { failure, text, toolUse } from '../support/scripted-model.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

/** decisions.md "Messages while a turn runs", "Continue". */
describe('a turn that is continued', () => {
  let calls = 0;
  let hold: Promise<void> = Promise.resolve();
  let called = (): void => undefined;
  const { service, registered } = useRegisteredMcp('shop', {
    tools: [
      {
        name: 'buy',
        run: async () => {
          calls += 1;
          called();
          await hold;
          return 'bought a lamp';
        },
      },
    ],
  });
  beforeEach(() => {
    calls = 0;
    hold = Promise.resolve();
  });
  expectAcceptedRequests(service);

  const goOn = (id: string) => service.api('POST', `/v1/sessions/${id}/continue`);
  const session = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const lastRequest = (): string => JSON.stringify(service.model.requests.at(-1)!.body.messages);

  it('a turn that is continued goes on after its last step, and calls no tool again', async () => {
    service.model.reply([text('I buy it.'), toolUse('mcp__shop__buy')], failure('invalid_request_error'));
    const sessionId = await service.session({ mcp_servers: [registered.id], thinking_enabled: false });
    const turnId = await service.send(sessionId, 'Buy a lamp');
    expect((await service.ended(sessionId)).type).to.equal('turn.failed');
    expect((await session(sessionId)).continuable).to.equal(true);
    service.model.reply('It is bought.');
    const { status, body } = await goOn(sessionId);
    expect(status).to.equal(201);
    expect(body).to.include({ type: 'turn.continued', continues_turn_id: turnId });
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.completed', turn_id: body.turn_id });
    expect(calls).to.equal(1);
    expect(lastRequest()).to.include('Buy a lamp').and.include('I buy it.').and.include('bought a lamp');
    const turn = (await service.api('GET', `/v1/sessions/${sessionId}/turns/${body.turn_id}`)).body;
    expect(turn).to.include({ continues_turn_id: turnId, message: 'It is bought.' });
    expect(await session(sessionId)).to.include({ continuable: false, status: 'COMPLETE' });
  });

  it('a turn that is continued can be continued again, and the next message sees all of it', async () => {
    service.model.reply(
      [toolUse('mcp__shop__buy')],
      failure('invalid_request_error'),
      failure('invalid_request_error'),
    );
    const sessionId = await service.session({ mcp_servers: [registered.id], thinking_enabled: false });
    await service.send(sessionId, 'Buy a lamp');
    await service.ended(sessionId);
    const first = await goOn(sessionId);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.failed', turn_id: first.body.turn_id });
    service.model.reply('Done.', 'Yes.');
    expect((await goOn(sessionId)).body.continues_turn_id).to.equal(first.body.turn_id);
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    await service.run(sessionId, 'Was it bought?');
    expect(lastRequest()).to.include('bought a lamp').and.include('Done.').and.include('Was it bought?');
    expect(calls).to.equal(1);
  });

  it('a turn that is continued states that the outcome of a call that was under way is unknown', async () => {
    let release = (): void => undefined;
    hold = new Promise((resolve) => (release = resolve));
    const begun = new Promise<void>((resolve) => (called = resolve));
    service.model.reply([toolUse('mcp__shop__buy')]);
    const sessionId = await service.session({ mcp_servers: [registered.id], thinking_enabled: false });
    await service.send(sessionId, 'Buy a lamp');
    await begun;
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    release();
    service.model.reply('I check first.');
    await goOn(sessionId);
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    expect(lastRequest()).to.include('Outcome unknown: the turn was cancelled while this call was under way.');
    expect(calls).to.equal(1);
  });

  it('a turn that is continued does not show the model its incomplete message', async () => {
    const { sessionId } = await streaming(service);
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    service.model.reply('One two three four.');
    await goOn(sessionId);
    await service.ended(sessionId);
    expect(lastRequest()).to.include('Count').and.not.include('One two');
  });

  it('a turn that is continued is refused where there is nothing to continue', async () => {
    const sessionId = await service.session();
    const reasonOf = async (): Promise<unknown> => {
      const { status, body } = await goOn(sessionId);
      expect(status).to.equal(409);
      expect(body.error.type).to.equal('turn_not_continuable');
      return body.error.details.reason;
    };
    expect(await reasonOf()).to.equal('no_turn');
    await service.run(sessionId, 'Hello');
    expect(await reasonOf()).to.equal('completed');
    await streaming(service, { sessionId });
    expect((await goOn(sessionId)).body.error.type).to.equal('session_running');
    expect((await session(sessionId)).continuable).to.equal(false);
  });

  it('a turn that is continued goes before the messages that are held, and opens the queue', async () => {
    const { sessionId } = await streaming(service);
    await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Held', when_running: 'queue' });
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    await goOn(sessionId);
    for (;;) {
      await service.ended(sessionId);
      const { queue, status } = await session(sessionId);
      if (queue.length === 0 && status === 'COMPLETE') break;
    }
    const firsts = (await service.history(sessionId)).filter(({ type }) =>
      ['user.message', 'turn.continued'].includes(type),
    );
    expect(firsts.map(({ type, content }) => content ?? type)).to.deep.equal(['Count', 'turn.continued', 'Held']);
  });
});
