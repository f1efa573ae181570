import { expect } from 'chai';
import { streaming } from '../support/open-turn.js';
import { raceEnds } from '../support/steering-races.js';
import { steps, text, toolUse, wait, type Gate } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';

/** More in steering.long.test.ts. */
const RACES = 8;

interface Page {
  items: object[];
  meta: { next_cursor: string | null };
}

/** decisions.md "Messages while a turn runs", "A message while a turn is open": steering. */
describe('messages that steer', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  const steer = (sessionId: string, content: string, more: object = {}) =>
    service.api('POST', `/v1/sessions/${sessionId}/messages`, { content, when_running: 'steer', ...more });
  const session = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const messages = async (id: string) => (await service.history(id)).filter(({ type }) => type === 'user.message');
  const idle = async (id: string): Promise<void> => {
    for (;;) {
      await service.ended(id);
      const { queue, status } = await session(id);
      if (queue.length === 0 && status !== 'RUNNING') return;
    }
  };

  it('messages that steer are given to the next model call, after the results of the step under way, in order', async () => {
    const { sessionId, turnId, gate } = await streaming(service, { then: [toolUse('list_files')] });
    const receipts = [await steer(sessionId, 'Also in red'), await steer(sessionId, 'And large')];
    for (const { status, body } of receipts) {
      expect(status).to.equal(201);
      expect(body).to.include({ state: 'steering', turn_id: turnId });
    }
    service.model.reply('Done.');
    gate.open();
    await idle(sessionId);
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type)).to.deep.equal([
      'user.message',
      'agent.message',
      'agent.tool_use',
      'agent.tool_result',
      'user.message',
      'user.message',
      'agent.message',
      'turn.completed',
    ]);
    expect(new Set(events.map(({ turn_id }) => turn_id)).size).to.equal(1);
    for (const [n, { body }] of receipts.entries()) {
      expect(events[4 + n]).to.deep.include({ id: body.id, content: body.content, delivered_at_step: 2 });
      expect(events[4 + n]).not.to.have.property('state');
    }
    const last = service.model.requests.at(-1)!.body.messages.at(-1)!;
    const blocks = last.content as { type: string; text?: string }[];
    expect(last.role).to.equal('user');
    expect(blocks[0]!.type).to.equal('tool_result');
    const said = blocks.slice(1).map((block) => block.text);
    expect(said.filter((one) => one === 'Also in red' || one === 'And large')).to.deep.equal([
      'Also in red',
      'And large',
    ]);
  });

  it('messages that steer stay where they were delivered in the requests of later turns', async () => {
    const { sessionId, gate } = await streaming(service, { then: [toolUse('list_files')] });
    await steer(sessionId, 'Also in red');
    service.model.reply('Done.', 'Again.');
    gate.open();
    await idle(sessionId);
    await service.run(sessionId, 'Next?');
    const shown = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    const places = ['tool_result', 'Also in red', 'Done.', 'Next?'].map((part) => shown.indexOf(part));
    expect(places).to.deep.equal([...places].sort((a, b) => a - b));
    expect(places).not.to.include(-1);
  });

  it('messages that steer become the first in the queue when they find no further call, each a turn', async () => {
    const { sessionId, turnId, gate } = await streaming(service);
    const queued = await service.api('POST', `/v1/sessions/${sessionId}/messages`, {
      content: 'Queued',
      when_running: 'queue',
    });
    const receipts = [await steer(sessionId, 'One more'), await steer(sessionId, 'And one')];
    gate.open();
    await idle(sessionId);
    const all = await messages(sessionId);
    expect(all.map(({ content }) => content)).to.deep.equal(['Count', 'One more', 'And one', 'Queued']);
    expect(all.slice(1).map(({ id }) => id)).to.deep.equal([...receipts, queued].map(({ body }) => body.id));
    expect(new Set(all.map(({ turn_id }) => turn_id)).size).to.equal(4);
    expect(all[0].turn_id).to.equal(turnId);
    expect(all[3].turn_id).to.equal(queued.body.turn_id);
    for (const event of all) expect(event).not.to.have.property('delivered_at_step');
  });

  it('messages that steer that are left over by several turns are delivered in the order in which they were accepted', async () => {
    const { sessionId, gate } = await streaming(service);
    const more = async (content: string, when_running: string): Promise<Gate> => {
      const answered = service.model.gate();
      service.model.on(new RegExp(`^${content}$`), steps([text('One two.', { before: { 1: wait(answered) } })]));
      await service.send(sessionId, content, { when_running });
      return answered;
    };
    const queued = await more('Queued', 'queue');
    const first = await more('Left over by turn 1', 'steer');
    const second = await more('Also by turn 1', 'steer');
    gate.open();
    await first.reached;
    const third = await more('By turn 2', 'steer');
    const page = async (query = '') =>
      (await service.api('GET', `/v1/sessions/${sessionId}/queue?limit=1${query}`)).body as Page;
    const begun = await page();
    expect(begun.items[0]).to.include({ content: 'By turn 2', state: 'steering' });
    const next = await page(`&cursor=${begun.meta.next_cursor}`);
    expect(next.items[0]).to.include({ content: 'Also by turn 1', state: 'queued' });
    first.open();
    await second.reached;
    // What the pages had shown when the turn ended is not shown again.
    expect((await page(`&cursor=${begun.meta.next_cursor}`)).items[0]).to.include({ content: 'Queued' });
    expect((await page()).items[0]).to.include({ content: 'By turn 2', state: 'queued' });
    for (const answered of [second, third, queued]) answered.open();
    await idle(sessionId);
    expect((await messages(sessionId)).map(({ content }) => content)).to.deep.equal([
      'Count',
      'Left over by turn 1',
      'Also by turn 1',
      'By turn 2',
      'Queued',
    ]);
  });

  it('messages that steer are held, first, when the turn is cancelled', async () => {
    const { sessionId } = await streaming(service);
    await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Queued', when_running: 'queue' });
    await steer(sessionId, 'Stop that');
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    expect((await session(sessionId)).queue).to.deep.equal({ length: 2, state: 'held' });
    const { items } = (await service.api('GET', `/v1/sessions/${sessionId}/queue`)).body;
    expect(items.map(({ content, state }: Record<string, string>) => [content, state])).to.deep.equal([
      ['Stop that', 'queued'],
      ['Queued', 'queued'],
    ]);
    await service.api('POST', `/v1/sessions/${sessionId}/queue/release`);
    await idle(sessionId);
    expect((await messages(sessionId)).map(({ content }) => content)).to.deep.equal(['Count', 'Stop that', 'Queued']);
  });

  it('messages that steer cannot change what the open turn has already', async () => {
    const { sessionId } = await streaming(service);
    const wrong: [string, object][] = [
      ['/model_id', { model_id: 'scripted' }],
      ['/thinking_enabled', { thinking_enabled: false }],
    ];
    for (const [path, more] of wrong) {
      const { status, body } = await steer(sessionId, 'Change', more);
      expect(status).to.equal(422);
      expect(body.error.details.errors[0].path).to.equal(path);
    }
    expect((await steer(sessionId, 'Fine', { skills: [] })).status).to.equal(201);
    for (const field of ['model_id', 'thinking_enabled', 'when_running']) {
      expect((await steer(sessionId, 'Null', { [field]: null })).status, field).to.equal(422);
    }
  });

  it(`messages that steer are each in exactly one turn, whenever the turn ends (${RACES} times)`, () =>
    raceEnds(service, RACES));
});
