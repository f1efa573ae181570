import { expect } from 'chai';
import { purgeSessions } from '../../src/sessions/purge.js';
import { message, text } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

const PRICE = { currency: 'EUR', input: 1, output: 0, cache_read: 0, cache_write: 0 };
const NO_OUTPUT = { output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

interface Group {
  group: string | null;
  turns: number;
  input_tokens: number;
  cost: { amount: string; currency: string } | null;
}

describe('the sums of usage', () => {
  let service: TurnService;
  const sessions: string[] = [];
  before(async () => {
    service = await startTurnService({ model: { price: PRICE } });
    const metadata = [{ team: 'b' }, { team: 'B', other: 'x' }, {}];
    for (const [index, pairs] of metadata.entries()) {
      service.model.on(/Go/, message([text('done')], { usage: { ...NO_OUTPUT, input_tokens: 10 ** index } }));
      sessions.push(await service.session({ metadata: pairs }));
      await service.run(sessions[index]!, 'Go');
    }
    service.model.on(/Go/, message([text('done')], { usage: { ...NO_OUTPUT, input_tokens: 1000 } }));
    await service.run(sessions[0]!, 'Go');
  });
  after(() => service.close());

  const groups = async (query: string): Promise<Group[]> =>
    (await service.api('GET', `/v1/usage?${query}`)).body.items as Group[];
  const short = (items: Group[]) =>
    items.map(({ group, turns, input_tokens, cost }) => [group, turns, input_tokens, cost?.amount]);

  it('are those of the last 30 days, by day of UTC', async () => {
    const items = await groups('');
    expect(items.map(({ group }) => group)).to.deep.equal([...new Set(items.map(({ group }) => group))].sort());
    expect(items[0]!.group).to.match(/^\d{4}-\d\d-\d\d$/);
    expect(items.reduce((sum, item) => sum + item.input_tokens, 0)).to.equal(1111);
    expect(items[0]).to.have.all.keys([
      ...['group', 'turns', 'model_calls', 'input_tokens', 'output_tokens'],
      ...['cache_read_input_tokens', 'cache_creation_input_tokens', 'cost'],
    ]);
  });

  it('are by model, by session, and by a key of the metadata, in order of code points and null last', async () => {
    expect(short(await groups('group_by=model'))).to.deep.equal([['scripted', 4, 1111, '0.001111']]);
    expect(short(await groups('group_by=metadata.team'))).to.deep.equal([
      ['B', 1, 10, '0.00001'],
      ['b', 2, 1001, '0.001001'],
      [null, 1, 100, '0.0001'],
    ]);
    const bySession = short(await groups('group_by=session'));
    expect(bySession).to.deep.equal([
      [sessions[0], 2, 1001, '0.001001'],
      [sessions[1], 1, 10, '0.00001'],
      [sessions[2], 1, 100, '0.0001'],
    ]);
  });

  it('come in pages, whose cursors belong to their filter', async () => {
    const items: Group[] = [];
    let cursor = '';
    do {
      const { body } = await service.api('GET', `/v1/usage?group_by=metadata.team&limit=1${cursor}`);
      items.push(...(body.items as Group[]));
      cursor = body.meta.next_cursor === null ? '' : `&cursor=${body.meta.next_cursor}`;
      if (cursor !== '') {
        const other = await service.api('GET', `/v1/usage?group_by=session&limit=1${cursor}`);
        expect(other.body.error.type).to.equal('invalid_cursor');
      }
    } while (cursor !== '');
    expect(items.map(({ group }) => group)).to.deep.equal(['B', 'b', null]);
  });

  it('begin with the turn that ended at `from`, and end before `to`', async () => {
    const events = await service.history(sessions[1]!);
    const end = events.at(-1).created_at as string;
    const within = async (from: string, to: string) =>
      (await groups(`group_by=session&from=${from}&to=${to}`)).map(({ group }) => group);
    const day = 24 * 3600 * 1000;
    const later = new Date(Date.now() + day).toISOString();
    const earlier = new Date(Date.now() - day).toISOString();
    expect(await within(end, later))
      .to.include(sessions[1])
      .and.to.include(sessions[2]);
    expect(await within(earlier, end)).to.not.include(sessions[1]);
    expect(await within(end, end)).to.deep.equal([]);
  });

  it('refuse what they cannot group or bound', async () => {
    const refused = async (query: string): Promise<string> => {
      const { status, body } = await service.api('GET', `/v1/usage?${query}`);
      expect(status, query).to.equal(422);
      return body.error.details.errors[0].path as string;
    };
    for (const group of ['', 'week', 'metadata', 'metadata.', `metadata.${'k'.repeat(65)}`, 'metadata.%00']) {
      expect(await refused(`group_by=${group}`)).to.equal('/query/group_by');
    }
    expect(await refused('from=2026-02-30T00:00:00Z')).to.equal('/query/from');
    expect(await refused('to=yesterday')).to.equal('/query/to');
    expect(await refused('from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z')).to.equal('/query/from');
  });

  it('are those of the project alone, and outlive deleted sessions and the purge', async () => {
    const stranger = service.as(await service.newKey({ project: 'strangers' }));
    expect((await stranger('GET', '/v1/usage')).body.items).to.deep.equal([]);
    const before = await groups('group_by=session');
    for (const id of sessions) await service.api('DELETE', `/v1/sessions/${id}`);
    expect(await groups('group_by=session')).to.deep.equal(before);
    await service.db.query(`UPDATE sessions SET deleted_at = now() - interval '2 hours'`);
    expect((await purgeSessions(service.db, 100)).sessions).to.equal(3);
    expect(await groups('group_by=session')).to.deep.equal(before);
  });
});
