import { expect } from 'chai';
import { listActiveSessions, listSessions } from '../../../src/sessions/list.js';
import type { ApiResponse } from '../../support/client.js';
import { insertSessions, insertTurn, insertWaitingTurn } from '../../support/factories.js';
import { countRowsRead } from '../../support/rows-read.js';
import { reachedLimit } from '../../support/rows.js';
import { useService } from '../../support/use.js';

/** decisions.md "Messages while a turn runs", "Finding sessions". */
describe('finding sessions', () => {
  const ids: Record<string, string> = {};
  const service = useService();
  before(async () => {
    const create = async (name: string, metadata = {}): Promise<void> => {
      ids[name] = (await service.api('POST', '/v1/sessions', { model_id: 'test-model', metadata })).body.id as string;
    };
    await create('idle', { team: 'red', env: 'prod' });
    await create('complete', { team: 'red', 'a]b[c': 'x=y&z', ['__proto__']: 'p' });
    await create('cancelled', { team: 'blue', env: 'prod' });
    await create('failed', { team: 'Red', empty: '' });
    await create('running', { team: 'red', env: 'test' });
    await create('waiting', { team: 'red', env: 'prod' });
    const { db } = service;
    for (const state of ['cancelled', 'failed']) await insertTurn(db, ids[state]!, state);
    await insertTurn(db, ids.complete!, 'completed');
    await insertTurn(db, ids.running!, 'failed');
    await insertTurn(db, ids.running!, 'running');
    await insertTurn(db, ids.waiting!, 'completed');
    await insertWaitingTurn(db, ids.waiting!, { input: { to: 'ada@example.com' } });
  });

  const list = (query: string): Promise<ApiResponse> => service.api('GET', `/v1/sessions?${query}`);
  const namesOf = ({ status, body }: ApiResponse): string[] => {
    expect(status, JSON.stringify(body)).to.equal(200);
    const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
    return body.items.map(({ id }: { id: string }) => names.get(id));
  };
  const find = async (query: string): Promise<string[]> => namesOf(await list(query));

  for (const [status, state, names] of [
    ['IDLE', null, ['idle']],
    ['RUNNING', 'running', ['waiting', 'running']],
    ['COMPLETE', 'completed', ['complete']],
    ['CANCELLED', 'cancelled', ['cancelled']],
    ['FAILED', 'failed', ['failed']],
  ] as const) {
    it(`finding sessions by the status ${status}, which they show`, async () => {
      const answer = await list(`status=${status}`);
      expect(namesOf(answer)).to.deep.equal(names);
      for (const session of answer.body.items) {
        const last_turn_id = state === null ? null : `turn_${state}_${session.id}`;
        const turn_count = { IDLE: 0, RUNNING: 2 }[status as string] ?? 1;
        expect(session).to.include({ status, last_turn_id, turn_count });
        expect(session.updated_at > session.created_at).to.equal(state !== null);
      }
    });
  }

  it('finding sessions by the user for whom the agent acts, with the other filters, in pages', async () => {
    const made = async (user: string | null, metadata = {}): Promise<string> =>
      (await service.api('POST', '/v1/sessions', { model_id: 'test-model', user, metadata })).body.id as string;
    const [one, two] = [await made('ada@example.com'), await made('ada@example.com', { team: 'blue' })];
    const others = [await made('Ada@example.com'), await made(null)];
    const idsOf = async (query: string): Promise<string[]> =>
      ((await list(query)).body.items as { id: string }[]).map(({ id }) => id);
    expect(await idsOf('user=ada@example.com')).to.deep.equal([two, one]);
    expect(await idsOf('user=ada@example.com&order=activity')).to.deep.equal([two, one]);
    expect(await idsOf('user=ada@example.com&metadata[team]=blue')).to.deep.equal([two]);
    expect(await idsOf('user=nobody')).to.deep.equal([]);
    const page = (await list('user=ada@example.com&limit=1')).body.meta;
    expect(await idsOf(`user=ada@example.com&cursor=${page.next_cursor}`)).to.deep.equal([one]);
    expect((await list(`user=bob&cursor=${page.next_cursor}`)).body.error.type).to.equal('invalid_cursor');
    for (const wrong of ['', 'a b', 'a'.repeat(129), 'ä']) {
      const { status, body } = await list(`user=${encodeURIComponent(wrong)}`);
      expect([status, body.error.details.errors[0].path], wrong).to.deep.equal([422, '/query/user']);
    }
    for (const id of [one, two, ...others]) await service.api('DELETE', `/v1/sessions/${id}`);
  });

  it('finding sessions by whether they wait for an answer, which they show', async () => {
    expect(await find('requires_action=true')).to.deep.equal(['waiting']);
    expect(await find('requires_action=false')).to.deep.equal(['running', 'failed', 'cancelled', 'complete', 'idle']);
    const { required_actions: actions, waiting_since } = (await service.api('GET', `/v1/sessions/${ids.waiting}`)).body;
    expect(actions).to.deep.equal([
      {
        type: 'tool_confirmation',
        tool_use_id: 'toolu_1',
        name: 'mcp__mail__send',
        input: { to: 'ada@example.com' },
        title: null,
        annotations: { read_only: null, destructive: null, idempotent: null, open_world: null },
        expires_at: actions[0].expires_at,
      },
    ]);
    const [row]: { asked_at: string }[] = await service.db.query('SELECT asked_at FROM waits WHERE session_id = $1', [
      ids.waiting,
    ]);
    expect(waiting_since).to.equal(row!.asked_at);
    for (const session of (await list('requires_action=false')).body.items)
      expect(session.waiting_since).to.equal(null);
    expect(actions[0].expires_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('finding sessions by metadata, exactly, all pairs', async () => {
    expect(await find('metadata[team]=red')).to.deep.equal(['waiting', 'running', 'complete', 'idle']);
    expect(await find('metadata[team]=red&metadata[env]=prod')).to.deep.equal(['waiting', 'idle']);
    expect(await find('metadata%5Bteam%5D=Red')).to.deep.equal(['failed']);
    expect(await find('metadata[empty]=')).to.deep.equal(['failed']);
    expect(await find('metadata[a]b[c]=x%3Dy%26z')).to.deep.equal(['complete']);
    expect(await find('metadata[__proto__]=p')).to.deep.equal(['complete']);
    for (const none of [
      'metadata[team]=re',
      'metadata[team]=',
      'metadata[tea]=red',
      'metadata[team]=red&metadata[x]=y',
    ]) {
      expect(await find(none), none).to.deep.equal([]);
    }
  });

  it('finding sessions by metadata as it is now', async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model', metadata: { v: 'old' } });
    ids.patched = body.id;
    await service.api('PATCH', `/v1/sessions/${body.id}`, { metadata: { v: 'new' } });
    expect([await find('metadata[v]=old'), await find('metadata[v]=new')]).to.deep.equal([[], ['patched']]);
    await service.api('DELETE', `/v1/sessions/${body.id}`);
    expect(await find('metadata[v]=new')).to.deep.equal([]);
  });

  it('finding sessions by the time of their creation, exclusive', async () => {
    const { created_at } = (await service.api('GET', `/v1/sessions/${ids.cancelled}`)).body as { created_at: string };
    expect(await find(`created_after=${created_at}`)).to.deep.equal(['waiting', 'running', 'failed']);
    expect(await find(`created_before=${created_at}`)).to.deep.equal(['complete', 'idle']);
    expect(await find(`created_before=${created_at}&created_after=${created_at}`)).to.deep.equal([]);
    const inBerlin = new Date(Date.parse(created_at) + 7_200_000).toISOString().replace('Z', '%2B02:00');
    expect(await find(`created_after=${inBerlin.replace(/\.\d+/, '')}`)).to.include('waiting');
    expect(await find('created_after=2000-01-01T00:00:00Z&created_before=2999-01-01t00:00:00.1z')).to.have.length(6);
  });

  it('finding sessions by all of it together', async () => {
    expect(await find('status=RUNNING&requires_action=true&metadata[team]=red')).to.deep.equal(['waiting']);
    expect(await find('status=RUNNING&requires_action=false')).to.deep.equal(['running']);
    expect(await find('status=FAILED&metadata[team]=red')).to.deep.equal([]);
  });

  it('finding sessions of the project alone', async () => {
    const stranger = service.as(await service.newKey({ project: 'strangers' }));
    for (const query of ['metadata[team]=red', 'status=FAILED', 'status=RUNNING', 'requires_action=true']) {
      expect((await stranger('GET', `/v1/sessions?${query}`)).body.items, query).to.deep.equal([]);
    }
  });

  it('finding sessions refuses wrong values at their place', async () => {
    const long = '😀'.repeat(65);
    for (const [query, path] of [
      ['status=idle', '/query/status'],
      ['status=', '/query/status'],
      ...['', '1', 'TRUE', 'yes'].map((value) => [`requires_action=${value}`, '/query/requires_action'] as const),
      ['created_after=yesterday', '/query/created_after'],
      ['created_before=2026-02-30T00:00:00Z', '/query/created_before'],
      ['created_after=0000-01-01T00:00:00Z', '/query/created_after'],
      ['created_after=2026-01-01T23:59:60Z', '/query/created_after'],
      ['created_after=2026-01-01T00:00:00+02:00', '/query/created_after'],
      ['metadata=x', '/query/metadata'],
      ['metadata[]=x', '/query/metadata[]'],
      [`metadata[${encodeURIComponent(long)}]=x`, `/query/metadata[${long}]`],
      [`metadata[k]=${'x'.repeat(513)}`, '/query/metadata[k]'],
      ['metadata[k]=%00', '/query/metadata[k]'],
      ['metadata[a/b~c]=%00', '/query/metadata[a~1b~0c]'],
      ['q=', '/query/q'],
      [`q=${'x'.repeat(201)}`, '/query/q'],
      ['order=updated', '/query/order'],
    ] as const) {
      const { status, body } = await list(query);
      expect([status, body.error?.details?.errors?.[0]?.path], query).to.deep.equal([422, path]);
    }
    const pairs = (count: number): string => Array.from({ length: count }, (_, n) => `metadata[k${n}]=v`).join('&');
    expect((await list(pairs(4))).status).to.equal(200);
    const beyond = await list(pairs(5));
    expect([beyond.status, beyond.body.error.details.errors[0].path]).to.deep.equal([422, '/query/metadata']);
    reachedLimit('metadata filters: 4');
    // Undefined parameters are ignored.
    expect(await find('metadatas[x]=y&Metadata[x]=y')).to.have.length(6);
  });

  it('finding sessions gives cursors that belong to their filter', async () => {
    const first = await list('limit=2&metadata[team]=red');
    expect(namesOf(first)).to.deep.equal(['waiting', 'running']);
    const cursor = first.body.meta.next_cursor as string;
    expect(await find(`metadata[team]=red&cursor=${cursor}`)).to.deep.equal(['complete', 'idle']);
    for (const other of [
      '',
      'metadata[team]=blue',
      'metadata[team]=red&status=IDLE',
      'metadata[team]=red&requires_action=true',
      'metadata[team]=red&requires_action=false',
      'created_after=2000-01-01T00:00:00Z',
      'metadata[team]=red&q=x',
      'metadata[team]=red&order=activity',
    ]) {
      expect((await list(`${other}&cursor=${cursor}`)).body.error?.type, other).to.equal('invalid_cursor');
    }
    const both = (await list('limit=1&metadata[team]=red&metadata[env]=prod')).body.meta.next_cursor as string;
    expect(await find(`metadata[env]=prod&metadata[team]=red&cursor=${both}`)).to.deep.equal(['idle']);
  });

  describe('the preview', () => {
    const previewOf = async (id: string): Promise<unknown> =>
      (await service.api('GET', `/v1/sessions/${id}`)).body.preview;
    const send = (id: string, content: string): Promise<ApiResponse> =>
      service.api('POST', `/v1/sessions/${id}/messages`, { content });

    it('the preview of a session is the first 120 characters of the first message, null before', async () => {
      for (const [content, preview] of [
        ['  Hello\n', '  Hello\n'],
        ['😀'.repeat(121), '😀'.repeat(120)],
        [`x${'😀'.repeat(120)}`, `x${'😀'.repeat(119)}`],
        ['x'.repeat(120), 'x'.repeat(120)],
      ] as const) {
        const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
        expect(body.preview).to.equal(null);
        await send(body.id, content);
        expect(await previewOf(body.id)).to.equal(preview);
        await service.api('POST', `/v1/sessions/${body.id}/cancel`);
        expect((await send(body.id, 'The second message')).status).to.equal(201);
        expect(await previewOf(body.id)).to.equal(preview);
        expect((await list('limit=1')).body.items[0].preview).to.equal(preview);
      }
      reachedLimit('preview: 120 characters');
    });

    it('the preview of a session does not appear with a message that is refused', async () => {
      const api = service.as(await service.newKey({ project: 'full', maxRunningTurns: 1 }));
      const [one, other] = await Promise.all(
        [1, 2].map(async () => (await api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string),
      );
      expect((await api('POST', `/v1/sessions/${one}/messages`, { content: 'First' })).status).to.equal(201);
      expect((await api('POST', `/v1/sessions/${other}/messages`, { content: 'Refused' })).status).to.equal(429);
      expect((await api('GET', `/v1/sessions/${other}`)).body.preview).to.equal(null);
    });
  });

  describe('a text', () => {
    const made: Record<string, string> = {};
    before(async () => {
      for (const [name, content] of [
        ['orders', 'Which ORDERS are late?'],
        ['refund', 'Refund 100% of order_7'],
        ['long', `${'x'.repeat(119)}yz`],
      ] as const) {
        const { body } = await service.api('POST', '/v1/sessions', {
          model_id: 'test-model',
          metadata: { by: 'text' },
        });
        made[name] = body.id;
        await service.api('POST', `/v1/sessions/${body.id}/messages`, { content });
      }
    });
    const search = async (q: string, more = ''): Promise<string[]> => {
      const { status, body } = await list(`metadata[by]=text&q=${encodeURIComponent(q)}${more}`);
      expect(status).to.equal(200);
      const names = new Map(Object.entries(made).map(([name, id]) => [id, name]));
      return body.items.map(({ id }: { id: string }) => names.get(id));
    };

    it('a text finds sessions as a part of their preview, case ignored', async () => {
      expect(await search('orders')).to.deep.equal(['orders']);
      expect(await search('rder')).to.deep.equal(['refund', 'orders']);
      expect(await search('LATE?')).to.deep.equal(['orders']);
      expect(await search('xy')).to.deep.equal(['long']);
      expect(await search('yz')).to.deep.equal([]);
    });

    it('a text finds sessions in any case, in every script, and however its accents are encoded', async () => {
      for (const [name, content] of [
        ['german', 'Die Größe der STRASSE'],
        ['turkish', 'Uçuş İSTANBUL’a mı?'],
        ['greek', 'Ο ΔΡΌΜΟΣ ΜΟΥ'],
        ['cyrillic', 'Где мой ЗАКАЗ?'],
        ['accents', 'Un cafe\u0301 s’il vous plaît'],
      ] as const) {
        const { body } = await service.api('POST', '/v1/sessions', {
          model_id: 'test-model',
          metadata: { by: 'text' },
        });
        made[name] = body.id;
        await service.api('POST', `/v1/sessions/${body.id}/messages`, { content });
      }
      for (const [name, ...texts] of [
        ['german', 'größe', 'GRÖSSE', 'GRÖẞE', 'gro\u0308ße', 'straße', 'Straẞe'],
        ['turkish', 'istanbul', 'İstanbul', 'ISTANBUL', 'ıstanbul', 'MI?', 'UÇUŞ', 'uc\u0327us\u0327'],
        ['greek', 'δρόμος', 'ΔΡΌΜΟΣ', 'δρόμοσ μου'],
        ['cyrillic', 'заказ', 'ГДЕ'],
        ['accents', 'CAFÉ', 'café', 'plai\u0302t', 'PLAÎT'],
      ]) {
        for (const q of texts) {
          for (const order of ['created', 'activity'])
            expect(await search(q, `&order=${order}`), `${q} ${order}`).to.deep.equal([name]);
        }
      }
      for (const none of ['grobe', 'кот', 'δρομος', 'plait']) expect(await search(none), none).to.deep.equal([]);
    });

    it('a text to find sessions by is no pattern', async () => {
      expect(await search('100%')).to.deep.equal(['refund']);
      expect(await search('order_')).to.deep.equal(['refund']);
      for (const none of ['1%f', 'o_ders', '\\']) expect(await search(none), none).to.deep.equal([]);
    });

    it('a text finds sessions together with other filters, in both orders', async () => {
      expect(await search('order', '&status=IDLE')).to.deep.equal([]);
      expect(await search('order', '&status=RUNNING&order=activity')).to.deep.equal(['refund', 'orders']);
      reachedLimit('search: 200 characters');
    });
  });

  describe('in the order of their activity', () => {
    const key = (): string => 'metadata[order]=activity&order=activity';
    const made: string[] = [];
    const create = async (): Promise<string> => {
      const { body } = await service.api('POST', '/v1/sessions', {
        model_id: 'test-model',
        metadata: { order: 'activity' },
      });
      made.push(body.id);
      return body.id;
    };
    const found = async (more = ''): Promise<number[]> => {
      const { status, body } = await list(`${key()}${more}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      const times = body.items.map(({ updated_at }: { updated_at: string }) => updated_at);
      expect(times).to.deep.equal([...times].sort().reverse());
      return body.items.map(({ id }: { id: string }) => made.indexOf(id));
    };

    it('sessions in the order of their activity move with each begin and end of a turn, and with their metadata', async () => {
      const [a, b, c] = [await create(), await create(), await create()];
      expect(await found()).to.deep.equal([2, 1, 0]);
      await service.api('POST', `/v1/sessions/${a}/messages`, { content: 'Hello' });
      expect(await found()).to.deep.equal([0, 2, 1]);
      await service.api('PATCH', `/v1/sessions/${b}`, { metadata: { more: 'yes' } });
      expect(await found()).to.deep.equal([1, 0, 2]);
      await service.api('POST', `/v1/sessions/${c}/messages`, { content: 'Hello' });
      expect(await found()).to.deep.equal([2, 1, 0]);
      await service.api('POST', `/v1/sessions/${a}/cancel`);
      expect(await found()).to.deep.equal([0, 2, 1]);
      await service.api('PATCH', `/v1/sessions/${c}`, { metadata: { more: 'yes' } });
      expect(await found()).to.deep.equal([2, 0, 1]);
      expect(await found('&status=RUNNING')).to.deep.equal([2]);
      expect(await found('&status=CANCELLED')).to.deep.equal([0]);
      expect(await found('&status=IDLE')).to.deep.equal([1]);
      expect(await found('&requires_action=true')).to.deep.equal([]);
      expect(await found('&requires_action=false')).to.deep.equal([2, 0, 1]);
    });

    it('pages of sessions in the order of their activity neither repeat nor skip one that does not change', async () => {
      while (made.length < 9) await create();
      for (const index of [3, 8, 5]) {
        await service.api('POST', `/v1/sessions/${made[index]}/messages`, { content: 'Hello' });
      }
      const whole = await found();
      expect([...whole].sort()).to.deep.equal(made.map((_, index) => index));
      for (const limit of [1, 2, 4]) {
        const paged: string[] = [];
        for (let cursor = ''; ;) {
          const { body } = await list(`${key()}&limit=${limit}${cursor}`);
          paged.push(...body.items.map(({ id }: { id: string }) => id));
          if (body.meta.next_cursor === null) break;
          cursor = `&cursor=${body.meta.next_cursor}`;
        }
        expect(paged.map((id) => made.indexOf(id))).to.deep.equal(whole);
      }
    });
  });

  describe('the state that is found', () => {
    it('the state by which sessions are found follows the ends of turns', async () => {
      const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model', metadata: { mine: 'yes' } });
      const statusOf = async (): Promise<string[]> => {
        const found = await Promise.all(
          ['IDLE', 'RUNNING', 'COMPLETE', 'CANCELLED', 'FAILED'].map(async (status) =>
            (await list(`status=${status}&metadata[mine]=yes`)).body.items.length === 1 ? [status] : [],
          ),
        );
        return found.flat();
      };
      expect(await statusOf()).to.deep.equal(['IDLE']);
      for (let turn = 0; turn < 2; turn += 1) {
        await service.api('POST', `/v1/sessions/${body.id}/messages`, { content: 'Hello' });
        expect(await statusOf()).to.deep.equal(['RUNNING']);
        await service.api('POST', `/v1/sessions/${body.id}/cancel`);
        expect(await statusOf()).to.deep.equal(['CANCELLED']);
      }
    });
  });
});

describe('finding sessions among very many reads few rows: those', () => {
  let projectId: string;
  const service = useService();
  before(async () => {
    await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const [project] = await service.db.query<[{ id: string }]>('SELECT id FROM projects');
    projectId = project.id;
    const rare = await insertSessions(service.db, projectId, 3);
    await service.db.query(`UPDATE sessions SET metadata = '{"env": "prod", "rare": "yes"}' WHERE id = ANY($1)`, [
      rare,
    ]);
    for (const id of rare) await insertTurn(service.db, id, 'failed');
    await insertWaitingTurn(service.db, rare[0]!);
    for (let batch = 0; batch < 20; batch += 1) {
      const ids = await insertSessions(service.db, projectId, 1000);
      await service.db.query(`UPDATE sessions SET metadata = '{"env": "prod"}' WHERE id = ANY($1)`, [ids]);
    }
    await service.db.query('ANALYZE');
  });

  for (const [title, filter, count] of [
    ['that failed', { state: 'failed' }, 2],
    ['that completed', { state: 'completed' }, 0],
    ['that run', { state: 'open' }, 1],
    ['that never ran', { state: 'idle' }, 100],
    ['that wait for an answer', { requiresAction: true }, 1],
    ['with rare metadata', { metadata: { rare: 'yes' } }, 3],
    ['with rare and common metadata', { metadata: { env: 'prod', rare: 'yes' } }, 3],
    ['with common metadata', { metadata: { env: 'prod' } }, 100],
    ['that failed, with metadata', { state: 'failed', metadata: { rare: 'yes' } }, 2],
    ['of a time', { createdBefore: '2000-01-01T00:00:00Z' }, 0],
  ] as const) {
    it(title, async () => {
      const { result, read } = await countRowsRead(service.db, (db) =>
        listSessions(db, projectId, { limit: 100, after: null }, filter),
      );
      expect(result.rows.length).to.equal(count);
      expect(read).to.be.lessThan(3000);
    });
  }

  for (const [title, filter, count] of [
    ['that were active last', {}, 100],
    ['that were active last and failed', { state: 'failed' }, 2],
    ['that were active last and never ran', { state: 'idle' }, 100],
    ['that were active last and wait for an answer', { requiresAction: true }, 1],
  ] as const) {
    it(title, async () => {
      const { result, read } = await countRowsRead(service.db, (db) =>
        listActiveSessions(db, projectId, { limit: 100, after: null }, filter),
      );
      expect(result.rows.length).to.equal(count);
      expect(read).to.be.lessThan(3000);
    });
  }
});
