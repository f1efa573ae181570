import { expect } from 'chai';
import { encodeCursor } from '../../../src/platform/page.js';
import { listSessions } from '../../../src/sessions/list.js';
import { TEST_MODEL } from '../../support/config.js';
import { insertSessions, insertTurn } from '../../support/factories.js';
import { pagesOf } from '../../support/pages.js';
import { startService, type TestService } from '../../support/service.js';

const PRICE = { currency: 'USD', input: 3, output: 15.5, cache_read: 0.3, cache_write: 3.75 };

describe('pages', () => {
  let service: TestService;
  before(async () => {
    const models = ['a', 'b', 'c'].map((id) => ({ ...TEST_MODEL, id, ...(id === 'c' && { price: PRICE }) }));
    service = await startService({ models });
  });
  after(() => service.close());

  const createSession = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'a' })).body.id;
  const pageOf = async (query: string) => (await service.api('GET', `/v1/sessions?${query}`)).body;

  it('pages go through all that existed at the first page, newest first, once each', async () => {
    const existed: string[] = [];
    for (let i = 0; i < 45; i += 1) existed.unshift(await createSession());
    const served: string[] = [];
    for await (const { items } of pagesOf(service.api, '/v1/sessions?limit=7')) {
      served.push(...items.map(({ id }: { id: string }) => id));
      await createSession();
    }
    expect(served).to.deep.equal(existed);
  });

  it('pages have 20 items by default and at most 100', async () => {
    expect((await pageOf('')).items).to.have.length(20);
    for (const [limit, length] of [
      ['1', 1],
      ['100', 52],
      ['20&limit=3', 3],
    ] as const) {
      expect((await pageOf(`limit=${limit}`)).items.length, limit).to.equal(length);
    }
    for (const limit of ['0', '101', '-1', '1.5', '1e1', 'ten', '', ' 1', '+1', '0x1', '%00', '999999999999']) {
      const { status, body } = await service.api('GET', `/v1/sessions?limit=${limit}`);
      expect(status, limit).to.equal(422);
      expect(body.error.type, limit).to.equal('validation_error');
      expect(body.error.details.errors[0].path).to.equal('/query/limit');
    }
  });

  it('pages end with a null cursor, also when the last page is full', async () => {
    const { items, meta } = (await service.api('GET', '/v1/models?limit=3')).body;
    expect(items.map(({ id }: { id: string }) => id)).to.deep.equal(['a', 'b', 'c']);
    expect(meta).to.deep.equal({ next_cursor: null });
  });

  it('pages of models have the order of the catalogue, and do not show where a model runs', async () => {
    const first = (await service.api('GET', '/v1/models?limit=2')).body;
    expect(first.items[0].price).to.equal(null);
    const second = (await service.api('GET', `/v1/models?limit=2&cursor=${first.meta.next_cursor}`)).body;
    expect(second.items).to.deep.equal([
      {
        id: 'c',
        display_name: 'Test model',
        context_window: 200_000,
        max_output_tokens: 8_000,
        supports_thinking: true,
        price: PRICE,
      },
    ]);
    expect(second.meta.next_cursor).to.equal(null);
  });

  it('pages refuse cursors that no page gave', async () => {
    const key = ['2026-11-21T09:48:03.123456Z', 'ses_x'];
    const odd: Record<string, string> = {
      empty: '',
      text: 'nonsense',
      'not base64url': '!!!',
      NUL: '%00',
      'broken encoding': '%zz',
      'with something behind it': `${encodeCursor('sessions', key)}x`,
      'no JSON': Buffer.from('[').toString('base64url'),
      'no array': Buffer.from('{}').toString('base64url'),
      'of another list': encodeCursor('files', key),
      'too short': encodeCursor('sessions', key.slice(1)),
      'too long': encodeCursor('sessions', [...key, 'x']),
      'without a time': encodeCursor('sessions', ['x', 'y']),
      'of no month': encodeCursor('sessions', ['2026-13-21T09:48:03.123456Z', 'x']),
      'of no day': encodeCursor('sessions', ['2026-02-30T09:48:03.123456Z', 'x']),
      'of no year': encodeCursor('sessions', ['0000-01-01T00:00:00.000000Z', 'x']),
      'with NUL': encodeCursor('sessions', [key[0]!, '\0']),
      oversized: 'A'.repeat(8000),
    };
    for (const [name, cursor] of Object.entries(odd)) {
      const { status, body } = await service.api('GET', `/v1/sessions?cursor=${cursor}`);
      expect(`${status} ${body.error?.type}`, name).to.equal('422 invalid_cursor');
    }
    expect((await service.api('GET', `/v1/models?cursor=${encodeCursor('models', ['gone'])}`)).status).to.equal(422);
  });

  describe('large items', () => {
    const MIB = 1024 * 1024;
    /** Walks over all pages of `limit=100`. Returns the ids in order and the bytes of each page. */
    const walk = async (path: string, api = service.api): Promise<{ ids: string[]; bytes: number[] }> => {
      const ids: string[] = [];
      const bytes: number[] = [];
      for await (const page of pagesOf(api, `${path}?limit=100`)) {
        ids.push(...page.items.map(({ id }: { id: string }) => id));
        bytes.push(Buffer.byteLength(JSON.stringify(page)));
      }
      return { ids, bytes };
    };
    /** A project of its own with sessions of 100,000 characters each, newest first. */
    const projectWith = async (sessions: number, character: string) => {
      const name = `large-${sessions}-${character.codePointAt(0)}`;
      const api = service.as(await service.newKey({ project: name }));
      const [project] = await service.db.query<{ id: string }[]>('SELECT id FROM projects WHERE name = $1', [name]);
      const ids = await insertSessions(service.db, project!.id, sessions);
      await service.db.query(
        `WITH configured AS (UPDATE configurations SET instruction = $2 WHERE id = ANY($1))
         UPDATE sessions SET created_at = now() - array_position($1::text[], id) * interval '1 s' WHERE id = ANY($1)`,
        [ids, character.repeat(100_000)],
      );
      return { api, ids, projectId: project!.id };
    };

    /** A session with messages of `length` characters; their ids are the prefix and a number from 1. */
    const sessionWith = async (prefix: string, messages: number, length: number): Promise<string> => {
      const sessionId = await createSession();
      const turnId = await insertTurn(service.db, sessionId, 'completed');
      await service.db.query(
        `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
         SELECT $3 || n, $1, $2, 1, n, 'agent.message',
           json_build_object('message_id', 'msg_1', 'content', repeat('z', $5)), now()
         FROM generate_series(1, $4::integer) AS n`,
        [sessionId, turnId, prefix, messages, length],
      );
      return sessionId;
    };

    it('pages of large items end at about 4 MiB with their cursor, and skip no item', async () => {
      // U+0001 takes one byte in Postgres and six in JSON.
      for (const character of ['x', '\u0001', '😀']) {
        const project = await projectWith(60, character);
        const { ids, bytes } = await walk('/v1/sessions', project.api);
        expect(ids).to.deep.equal(project.ids);
        expect(bytes.length).to.be.greaterThan(1);
        for (const page of bytes) expect(page).to.be.lessThan(4 * MIB + 700_000);
        for (const page of bytes.slice(0, -1)) expect(page).to.be.greaterThan(4 * MIB - 10_000);
      }
    });

    it('pages of large items are not read from Postgres beyond that', async () => {
      const { projectId } = await projectWith(55, 'y');
      const { rows, hasMore } = await listSessions(service.db, projectId, { limit: 100, after: null });
      expect(rows.length).to.be.within(40, 43);
      expect(hasMore).to.equal(true);
    });

    it('pages of large items end also in the history of a session', async () => {
      const sessionId = await sessionWith('evt_', 12, 1_000_000);
      const { ids, bytes } = await walk(`/v1/sessions/${sessionId}/events`);
      expect(ids).to.deep.equal(Array.from({ length: 12 }, (_, n) => `evt_${n + 1}`));
      expect(bytes.map((page) => Math.round(page / 1_000_000))).to.deep.equal([5, 5, 2]);
    });

    it('pages of large items hold one item at least', async () => {
      const sessionId = await sessionWith('evt_large_', 2, 5_000_000);
      const { ids, bytes } = await walk(`/v1/sessions/${sessionId}/events`);
      expect(ids).to.deep.equal(['evt_large_1', 'evt_large_2']);
      expect(bytes).to.have.length(2);
    });
  });

  it('pages ignore query parameters that are not defined', async () => {
    expect((await service.api('GET', '/v1/sessions?other=1&__proto__=2&limit=1')).status).to.equal(200);
  });
});
