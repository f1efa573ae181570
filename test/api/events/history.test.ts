import { expect } from 'chai';
import { steps, text, toolUse, wait } from '../../support/scripted-model.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

/** spec.md "History", "Pagination"; contract.md §1 "Malformed `cursor`". */
describe('the event history', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService();
  });
  after(() => service.close());
  afterEach(() => service.model.reset());

  const page = async (sessionId: string, limit: number, cursor: string | null = null) => {
    const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await service.api('GET', `/v1/sessions/${sessionId}/events?limit=${limit}${query}`);
    return { status, body, items: body.items, next: body.meta?.next_cursor as string | null };
  };

  it('has all turns in order, in pages of any size, with the events of a running turn so far', async () => {
    const gate = service.model.gate();
    const sessionId = await service.session({ thinking_enabled: false });
    for (const content of ['One', 'Two', 'Three']) {
      await service.send(sessionId, content);
      await service.ended(sessionId);
    }
    service.model.on(/Four/, steps(toolUse('list_files'), [text('There '), wait(gate), text('are none.')]));
    const turnId = await service.send(sessionId, 'Four');
    await gate.reached;

    const whole = await service.history(sessionId);
    expect(whole.map(({ type }) => type as string)).to.deep.equal([
      ...Array.from({ length: 3 }, () => ['user.message', 'agent.message', 'turn.completed']).flat(),
      'user.message',
      'agent.tool_use',
      'agent.tool_result',
    ]);
    expect(whole.filter(({ type }) => type === 'user.message').map(({ content }) => content as string)).to.deep.equal([
      'One',
      'Two',
      'Three',
      'Four',
    ]);
    const times = whole.map(({ created_at }) => created_at as string);
    expect(times).to.deep.equal(times.toSorted());

    for (const limit of [1, 2, 5, 11, 12, 13]) {
      const items: unknown[] = [];
      let cursor: string | null = null;
      do {
        const { items: some, next } = await page(sessionId, limit, cursor);
        expect(some).to.have.length(Math.min(limit, 12 - items.length));
        items.push(...some);
        cursor = next;
      } while (cursor !== null);
      expect(items).to.deep.equal(whole);
    }

    // A cursor of before goes on with what has come since.
    const { next: cursor } = await page(sessionId, 11);
    gate.open();
    await service.ended(sessionId);
    const rest = await page(sessionId, 100, cursor);
    expect(rest.items.map(({ type, turn_id }: Record<string, string>) => [type, turn_id])).to.deep.equal([
      ['agent.tool_result', turnId],
      ['agent.message', turnId],
      ['turn.completed', turnId],
    ]);
    expect(rest.next).to.equal(null);
  });

  it('is empty for a new session', async () => {
    const { items, next } = await page(await service.session(), 20);
    expect(items).to.deep.equal([]);
    expect(next).to.equal(null);
  });

  it('refuses cursors of other lists', async () => {
    const sessionId = await service.session();
    await service.send(sessionId, 'One');
    await service.ended(sessionId);
    const { next } = await page(sessionId, 1);
    const another = await service.session();
    for (const cursor of ['', 'x', `${next}x`, Buffer.from('["a","b"]').toString('base64url')]) {
      const { status, body } = await page(sessionId, 1, cursor);
      expect(`${status} ${body.error?.type}`, cursor).to.equal('422 invalid_cursor');
    }
    expect((await page(another, 1, next)).body.error.type).to.equal('invalid_cursor');
  });

  it('belongs to the project', async () => {
    const sessionId = await service.session();
    const stranger = service.as(await service.newKey({ project: 'other' }));
    for (const path of ['events', 'events/stream']) {
      const { status, body } = await stranger('GET', `/v1/sessions/${sessionId}/${path}`);
      expect(`${status} ${body.error.type}`).to.equal('404 session_not_found');
    }
    const writer = service.as(await service.newKey({ scopes: ['sessions:write'] }));
    const { body } = await writer('GET', `/v1/sessions/${sessionId}/events`);
    expect(body.error).to.deep.include({ type: 'insufficient_scope', details: { required: 'sessions:read' } });
  });
});
