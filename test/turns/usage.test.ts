import { expect } from 'chai';
import { TASKS } from '../../activities/maintenance/tasks.js';
import { UsageError } from '../../ops/command.js';
import { runUsage } from '../../ops/usage.js';
import { createLogger } from '../../src/platform/logger.js';
import { runWritten } from '../ops/written.js';
import type { ModelEntry } from '../../src/models/entry.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { TEST_MODEL } from '../support/config.js';
import { eventually } from '../support/eventually.js';
import { failure, message, startScriptedModel, text, wait, type ScriptedModel } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { useTurnService } from '../support/use.js';

const PRICE = { currency: 'EUR', input: 1, output: 0, cache_read: 0, cache_write: 0 };
const NO_OUTPUT = { output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

interface Group {
  group: string | null;
  turns: number;
  model_calls: number;
  input_tokens: number;
  cost: { amount: string; currency: string } | null;
}

describe('the sums of usage', () => {
  const sessions: string[] = [];
  const service = useTurnService(() => ({ model: { price: PRICE } }));
  before(async () => {
    const metadata = [{ team: 'b' }, { team: 'B', other: 'x' }, {}];
    for (const [index, pairs] of metadata.entries()) {
      service.model.on(/Go/, message([text('done')], { usage: { ...NO_OUTPUT, input_tokens: 10 ** index } }));
      sessions.push(await service.session({ metadata: pairs, user: index === 2 ? 'ada' : null }));
      await service.run(sessions[index]!, 'Go');
    }
    service.model.on(/Go/, message([text('done')], { usage: { ...NO_OUTPUT, input_tokens: 1000 } }));
    await service.run(sessions[0]!, 'Go');
  });

  const groups = async (query: string): Promise<Group[]> =>
    (await service.api('GET', `/v1/usage?${query}`)).body.items as Group[];
  const short = (items: Group[]) =>
    items.map(({ group, turns, input_tokens, cost }) => [group, turns, input_tokens, cost?.amount]);

  it('the sums of usage are those of the last 30 days, by day of UTC', async () => {
    const items = await groups('');
    expect(items.map(({ group }) => group)).to.deep.equal([...new Set(items.map(({ group }) => group))].sort());
    expect(items[0]!.group).to.match(/^\d{4}-\d\d-\d\d$/);
    expect(items.reduce((sum, item) => sum + item.input_tokens, 0)).to.equal(1111);
    expect(items[0]).to.have.all.keys([
      ...['group', 'turns', 'model_calls', 'input_tokens', 'output_tokens'],
      ...['cache_read_input_tokens', 'cache_creation_input_tokens', 'cost'],
    ]);
  });

  it('the sums of usage are by model, by session, by user, and by a key of the metadata, in order of code points and null last', async () => {
    expect(short(await groups('group_by=model'))).to.deep.equal([['scripted', 4, 1111, '0.001111']]);
    expect(short(await groups('group_by=metadata.team'))).to.deep.equal([
      ['B', 1, 10, '0.00001'],
      ['b', 2, 1001, '0.001001'],
      [null, 1, 100, '0.0001'],
    ]);
    expect(short(await groups('group_by=user'))).to.deep.equal([
      ['ada', 1, 100, '0.0001'],
      [null, 3, 1011, '0.001011'],
    ]);
    const bySession = short(await groups('group_by=session'));
    expect(bySession).to.deep.equal([
      [sessions[0], 2, 1001, '0.001001'],
      [sessions[1], 1, 10, '0.00001'],
      [sessions[2], 1, 100, '0.0001'],
    ]);
  });

  it('the sums of usage come in pages, whose cursors belong to their filter', async () => {
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

  it('the sums of usage begin with the turn that ended at `from`, and end before `to`', async () => {
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

  it('the sums of usage refuse what they cannot group or bound', async () => {
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

  it('the sums of usage are the same when maintenance has summed them up, and then forget metadata', async () => {
    const groupings = ['day', 'model', 'session', 'user', 'metadata.team'];
    const all = () => Promise.all(groupings.map((grouping) => groups(`group_by=${grouping}`)));
    const before = await all();
    const { log, storage } = { log: createLogger('silent', 'test'), storage: undefined as never };
    const maintain = (usageMetadataDays: number) =>
      TASKS.usage(
        {
          config: { retentionDays: null, memoryVersionDays: 30, usageMetadataDays, auditLogDays: 365 },
          db: service.db,
          log,
          storage,
        },
        null,
      );
    expect(await maintain(90)).to.deep.equal({ counts: { summed: 4, forgotten: 0 }, next: null });
    expect(await all()).to.deep.equal(before);
    const forget = (...args: string[]) => runWritten(() => runUsage(['forget', ...args], service.config.databaseUrl));
    const none = await forget('--project', 'nobody', '--session', sessions[0]!);
    expect(none).to.include({ code: 1, err: 'There is no project nobody.\n' });
    const b = await forget('--project', 'demo', '--metadata', 'team=b');
    expect(b).to.include({ code: 0, out: 'forgotten in the usage of 2 turns\n' });
    expect(short(await groups('group_by=metadata.team'))).to.deep.equal([
      ['B', 1, 10, '0.00001'],
      [null, 3, 1101, '0.001101'],
    ]);
    const session = await forget('--project', 'demo', '--session', sessions[1]!);
    expect(session.out).to.equal('forgotten in the usage of 1 turn\n');
    expect(short(await groups('group_by=metadata.other'))).to.deep.equal([[null, 4, 1111, '0.001111']]);
    expect((await all()).slice(0, 4)).to.deep.equal(before.slice(0, 4));
    for (const args of [[], ['--metadata', 'x'], ['--metadata', 'a=b', '--session', 's']]) {
      const refused = await forget('--project', 'demo', ...args).catch((error: unknown) => error);
      expect(refused, args.join(' ')).to.be.instanceOf(UsageError);
    }
  });

  it('the sums of usage are those of the project alone, and outlive deleted sessions and the purge', async () => {
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

describe('the sums of usage of several models', () => {
  let service: TurnService;
  let model: ScriptedModel;
  before(async () => {
    model = await startScriptedModel();
    const entry = (id: string, price?: ModelEntry['price']): ModelEntry => ({
      ...{ ...TEST_MODEL, id, model: id, base_url: model.url },
      ...(price !== undefined && { price }),
    });
    service = await startTurnService({
      models: [entry('own', PRICE), entry('other', { ...PRICE, input: 2 }), entry('unpriced')],
    });
  });
  after(async () => {
    await service.close();
    await model.close();
  });

  /** A project of its own for each test: the sums are those of a project. */
  const project = async (name: string) => {
    const api = service.as(await service.newKey({ project: name }));
    const session = async (body: object = {}): Promise<string> =>
      (await api('POST', '/v1/sessions', { model_id: 'own', thinking_enabled: false, ...body })).body.id;
    const send = async (id: string, content: string, more: object = {}): Promise<string> => {
      const { status, body } = await api('POST', `/v1/sessions/${id}/messages`, { content, ...more });
      expect(status, JSON.stringify(body)).to.equal(201);
      return body.turn_id;
    };
    const ended = (turn: string): Promise<void> =>
      eventually('the turn has ended', async () => {
        const [row] = await service.db.query<{ ended: boolean }[]>(
          'SELECT ended_at IS NOT NULL AS ended FROM turns WHERE id = $1',
          [turn],
        );
        return row!.ended;
      });
    const run = async (id: string, content: string, more?: object): Promise<string> => {
      const turn = await send(id, content, more);
      await ended(turn);
      return turn;
    };
    const groups = async (query: string, fields: (keyof Group)[] = ['group', 'turns', 'cost']): Promise<unknown[]> => {
      const { status, body } = await api('GET', `/v1/usage?${query}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      return body.items.map((item: Group) => fields.map((field) => item[field]));
    };
    return { api, session, send, ended, run, groups };
  };
  const eur = (amount: string) => ({ amount, currency: 'EUR' });
  const tokens = (input_tokens: number) => ({ usage: { ...NO_OUTPUT, input_tokens } });

  it('the sums of usage of several models count a turn that fell back once for each of its models, each call at the price of its model', async () => {
    model.on(
      (request) => request.body.model === 'own' && /Fall/.test(request.userText),
      failure('invalid_request_error'),
    );
    model.on(
      (request) => request.body.model === 'other' && /Fall/.test(request.userText),
      message([text('done')], tokens(1000)),
    );
    model.on(/Plain/, message([text('done')], tokens(10)));
    const { session, run, groups } = await project('falls');
    const id = await session({ fallback_model_ids: ['other'] });
    await run(id, 'Fall');
    await run(id, 'Plain');
    const fields = ['group', 'turns', 'model_calls', 'input_tokens', 'cost'] as const;
    expect(await groups('group_by=model', [...fields])).to.deep.equal([
      ['other', 1, 1, 1000, eur('0.002')],
      ['own', 2, 2, 10, eur('0.00001')],
    ]);
    expect(await groups('group_by=session', [...fields])).to.deep.equal([[id, 2, 3, 1010, eur('0.00201')]]);
  });

  it('the sums of usage of several models have no cost where a call had no price, and keep the other costs', async () => {
    model.on(/Price/, message([text('done')], tokens(10)));
    const { session, run, groups } = await project('prices');
    const [mixed, priced] = [await session(), await session()];
    await run(mixed, 'Price');
    await run(mixed, 'Price', { model_id: 'unpriced' });
    await run(priced, 'Price');
    expect(await groups('group_by=model')).to.deep.equal([
      ['own', 2, eur('0.00002')],
      ['unpriced', 1, null],
    ]);
    expect(await groups('group_by=session')).to.deep.equal([
      [mixed, 2, null],
      [priced, 1, eur('0.00001')],
    ]);
  });

  it('the sums of usage of several models take the metadata that the session had when the turn ended', async () => {
    const gate = model.gate();
    model.on(/Slow/, message([wait(gate), text('done')], tokens(10)));
    const { api, session, send, ended, groups } = await project('metadata');
    const id = await session({ metadata: { team: 'before' } });
    const turn = await send(id, 'Slow');
    await gate.reached;
    await api('PATCH', `/v1/sessions/${id}`, { metadata: { team: 'at the end' } });
    gate.open();
    await ended(turn);
    await api('PATCH', `/v1/sessions/${id}`, { metadata: { team: 'after' } });
    expect(await groups('group_by=metadata.team')).to.deep.equal([['at the end', 1, eur('0.00001')]]);
  });

  it('the sums of usage of several models come in the order of code points, page by page, an empty value first and a missing key last', async () => {
    model.on(/Order/, message([text('done')], tokens(10)));
    const { api, session, run } = await project('order');
    // UTF-16 has the emoji before the last of these.
    const teams = ['\u{1F600}', '\uFFFD', 'a', 'B', 'ä', ''];
    for (const team of [...teams, undefined]) {
      await run(await session({ metadata: team === undefined ? {} : { team } }), 'Order');
    }
    const found: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = `group_by=metadata.team&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { body } = await api('GET', `/v1/usage?${query}`);
      found.push(...body.items.map(({ group }: Group) => group));
      cursor = body.meta.next_cursor;
      const from =
        cursor !== null && (await api('GET', `/v1/usage?${query}&from=2026-01-01T00:00:00Z&cursor=${cursor}`));
      if (from) expect(from.body.error.type).to.equal('invalid_cursor');
    }
    expect(found).to.deep.equal(['', 'B', 'a', 'ä', '\uFFFD', '\u{1F600}', null]);
  });

  it('the sums of usage of several models count by day of UTC, and those of 30 days', async () => {
    model.on(/Day/, message([text('done')], tokens(10)));
    const { session, run, groups } = await project('days');
    const id = await session();
    const ends = ['2026-03-28T23:59:59.999999Z', '2026-03-29T00:00:00Z', '2026-03-29T23:59:59.999999Z'];
    for (const end of ends) {
      await service.db.query('UPDATE turn_usage SET ended_at = $1 WHERE turn_id = $2', [end, await run(id, 'Day')]);
    }
    const march = 'from=2026-03-01T00:00:00%2B01:00&to=2026-04-01T00:00:00Z';
    expect(await groups(march)).to.deep.equal([
      ['2026-03-28', 1, eur('0.00001')],
      ['2026-03-29', 2, eur('0.00002')],
    ]);
    expect(await groups('')).to.deep.equal([]);
    await service.db.query(
      `UPDATE turn_usage SET ended_at = now() - interval '29 days 23 hours' WHERE session_id = $1`,
      [id],
    );
    expect(await groups('group_by=model')).to.deep.equal([['own', 3, eur('0.00003')]]);
  });
});

describe('the sums of usage with USAGE_METADATA_DAYS=0', () => {
  const service = useTurnService({ config: { usageMetadataDays: 0 } });

  it('the sums of usage with USAGE_METADATA_DAYS=0 have no metadata, whoever ended the turn', async () => {
    const gate = service.model.gate();
    service.model.on(/Wait/, text('late', { before: { 0: wait(gate) } }));
    const session = await service.session({ metadata: { who: 'jane' } });
    await service.run(session, 'Hello');
    await service.send(session, 'Wait');
    await gate.reached;
    await service.api('POST', `/v1/sessions/${session}/cancel`);
    await service.ended(session);
    gate.open();
    const rows = await service.db.query(`SELECT metadata FROM turn_usage`);
    expect(rows).to.deep.equal([{ metadata: {} }, { metadata: {} }]);
  });
});
