import { expect } from 'chai';
import { findEvent, readHistory, type HistoryFilter } from '../../../src/events/read-history.js';
import { STORED_EVENT_TYPES } from '../../../src/events/schema.js';
import { insertEndedTurns, insertSessions } from '../../support/factories.js';
import { allItems } from '../../support/pages.js';
import { countRowsRead } from '../../support/rows-read.js';
import { steps, text, toolUse, wait } from '../../support/scripted-model.js';
import { useService, useTurnService } from '../../support/use.js';

/** docs/interface.md "Values"; decisions.md "HTTP", "Malformed `cursor`". */
describe('the event history', () => {
  const service = useTurnService();
  afterEach(() => service.model.reset());

  it('the event history has all turns in order, with the events of a running turn so far', async () => {
    const gate = service.model.gate();
    const sessionId = await service.session({ thinking_enabled: false });
    expect(await service.history(sessionId)).to.deep.equal([]);
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

    // A cursor of before goes on with what has come since.
    const page = async (query: string) => (await service.api('GET', `/v1/sessions/${sessionId}/events?${query}`)).body;
    const { meta } = await page('limit=11');
    gate.open();
    await service.ended(sessionId);
    const rest = await page(`cursor=${meta.next_cursor}`);
    expect(rest.items.map(({ type, turn_id }: Record<string, string>) => [type, turn_id])).to.deep.equal([
      ['agent.tool_result', turnId],
      ['agent.message', turnId],
      ['turn.completed', turnId],
    ]);
    expect(rest.meta.next_cursor).to.equal(null);
  });
});

/** decisions.md "Results", "Events". */
describe('the event history, filtered', () => {
  let sessionId: string;
  let turnIds: string[];
  const service = useService();
  before(async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    sessionId = body.id as string;
    await insertEndedTurns(service.db, sessionId, { count: 3, results: 2 });
    turnIds = [1, 2, 3].map((number) => `turn_${number}${sessionId}`);
  });

  const get = (query: string, ofSession = sessionId) => service.api('GET', `/v1/sessions/${ofSession}/events?${query}`);
  const read = (query: string, limit = 100): Promise<{ id: string; type: string; turn_id: string }[]> =>
    allItems(service.api, `/v1/sessions/${sessionId}/events?${query}&limit=${limit}`);

  it('the event history, filtered has the events of one turn, of some types, in either order, and of all of these at once', async () => {
    const all = await read('');
    expect(all).to.have.length(15);
    const ends = ['agent.message', 'turn.completed'];
    for (const limit of [1, 2, 3, 100]) {
      expect(await read('order=asc', limit)).to.deep.equal(all);
      expect(await read('order=desc', limit)).to.deep.equal(all.toReversed());
      const second = all.filter(({ turn_id }) => turn_id === turnIds[1]);
      expect(await read(`turn_id=${turnIds[1]}`, limit)).to.deep.equal(second);
      const messages = all.filter(({ type }) => ends.includes(type));
      expect(await read('types=turn.completed,agent.message', limit)).to.deep.equal(messages);
      expect(await read('types=turn.completed,agent.message&order=desc', limit)).to.deep.equal(messages.toReversed());
      const both = second.filter(({ type }) => ends.includes(type)).reverse();
      expect(both).to.have.length(2);
      const query = `order=desc&turn_id=${turnIds[1]}&types=agent.message,turn.completed`;
      expect(await read(query, limit)).to.deep.equal(both);
    }
  });

  it('the event history, filtered is empty for a turn that the session does not have', async () => {
    const other = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
    await insertEndedTurns(service.db, other, { count: 1, results: 0 });
    for (const turnId of ['turn_none', 'x'.repeat(3000), `turn_1${other}`]) {
      expect(await read(`turn_id=${turnId}`)).to.deep.equal([]);
    }
  });

  it('the event history, filtered refuses filters that are empty, unknown or of what is not stored', async () => {
    const cases = {
      types: ['', 'agent.message,', 'agent.messages', 'agent.message.delta', 'agent.message, turn.failed', '%00'],
      turn_id: ['', '%00'],
      order: ['', 'DESC', 'newest'],
    };
    for (const [name, values] of Object.entries(cases)) {
      for (const value of values) {
        const { status, body } = await get(`${name}=${value}`);
        expect(`${status} ${body.error?.type}`, `${name}=${value}`).to.equal('422 validation_error');
        expect(body.error.details.errors[0].path).to.equal(`/query/${name}`);
      }
    }
  });

  it('the event history, filtered takes a cursor with the filter that it came with, and with no other one', async () => {
    const filters = ['', 'order=desc', `turn_id=${turnIds[0]}`, `turn_id=${turnIds[1]}`, 'types=agent.tool_result'];
    const another = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
    const cursorOf = async (filter: string) => (await get(`${filter}&limit=1`)).body.meta.next_cursor as string;
    for (const filter of filters) {
      const cursor = await cursorOf(filter);
      expect((await get(`${filter}&cursor=${cursor}`, another)).body.error.type).to.equal('invalid_cursor');
      for (const other of filters) {
        const { status, body } = await get(`${other}&limit=1&cursor=${cursor}`);
        if (other === filter) expect(status).to.equal(200);
        else expect(`${status} ${body.error?.type}`, `${filter} with ${other}`).to.equal('422 invalid_cursor');
      }
    }
    // Filters with the same meaning are the same.
    const cursor = await cursorOf('types=agent.message,turn.completed');
    expect((await get(`types=turn.completed,agent.message,agent.message&order=asc&cursor=${cursor}`)).status).to.equal(
      200,
    );
    const every = await cursorOf(`types=${STORED_EVENT_TYPES.join(',')}&turn_id=${turnIds[0]}`);
    expect((await get(`types=${STORED_EVENT_TYPES.join(',')}&turn_id=${turnIds[0]}&cursor=${every}`)).status).to.equal(
      200,
    );
  });

  it('the event history, filtered has each event by its id', async () => {
    for (const event of await read('')) {
      const { status, body } = await service.api('GET', `/v1/sessions/${sessionId}/events/${event.id}`);
      expect(status).to.equal(200);
      expect(body).to.deep.equal(event);
    }
    const other = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
    for (const path of [
      `${sessionId}/events/evt_none`,
      `${sessionId}/events/%00`,
      `${other}/events/evt_1_1${sessionId}`,
    ]) {
      const { status, body } = await service.api('GET', `/v1/sessions/${path}`);
      expect(`${status} ${body.error.type}`, path).to.equal('404 event_not_found');
    }
  });

  it('the event history, filtered finds what is rare in a long history without reading the rest', async () => {
    const [project] = await service.db.query<[{ id: string }]>('SELECT id FROM projects');
    const [long] = (await insertSessions(service.db, project.id, 1)) as [string];
    await insertEndedTurns(service.db, long, { count: 20, results: 1000 });
    await service.db.query('ANALYZE');
    const [turnId, types] = [`turn_3${long}`, ['turn.completed', 'turn.failed']];
    const cases: [HistoryFilter, number][] = [
      [{ types, isNewestFirst: false }, 20],
      [{ types, isNewestFirst: true }, 20],
      [{ types: ['agent.file'], isNewestFirst: true }, 0],
      [{ types, turnId, isNewestFirst: true }, 1],
      [{ turnId, isNewestFirst: true }, 100],
      [{ turnId, types: ['agent.tool_result'], isNewestFirst: false }, 100],
      [{ turnId: 'turn_none', isNewestFirst: true }, 0],
      [{ isNewestFirst: true }, 100],
    ];
    for (const [filter, count] of cases) {
      const { result, read: rows } = await countRowsRead(service.db, (db) => readHistory(db, long, null, 100, filter));
      expect(result.rows, JSON.stringify(filter)).to.have.length(count);
      expect(rows, JSON.stringify(filter)).to.be.lessThan(1500);
    }
    const found = await countRowsRead(service.db, (db) => findEvent(db, project.id, long, `evt_7_500${long}`));
    expect(found.result?.event?.type).to.equal('agent.tool_result');
    // Of 20,000: the plan may look at each turn of the session, but not at each event.
    expect(found.read).to.be.lessThan(50);
  });
});
