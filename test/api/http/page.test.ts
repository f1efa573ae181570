import { expect } from 'chai';
import { encodeCursor } from '../../../src/platform/page.js';
import { TEST_MODEL } from '../../support/config.js';
import { startService, type TestService } from '../../support/service.js';

describe('pages (spec.md "Pagination")', () => {
  let service: TestService;
  before(async () => {
    const models = ['a', 'b', 'c'].map((id) => ({ ...TEST_MODEL, id }));
    service = await startService({ models });
  });
  after(() => service.close());

  const createSession = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'a' })).body.id;
  const pageOf = async (query: string) => (await service.api('GET', `/v1/sessions?${query}`)).body;

  it('go through all that existed at the first page, newest first, once each', async () => {
    const existed: string[] = [];
    for (let i = 0; i < 45; i += 1) existed.unshift(await createSession());
    const served: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { items: { id: string }[]; meta: { next_cursor: string | null } } = await pageOf(
        `limit=7${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      served.push(...page.items.map(({ id }) => id));
      cursor = page.meta.next_cursor;
      await createSession();
    } while (cursor !== null);
    expect(served).to.deep.equal(existed);
  });

  it('hold 20 unless told, 100 at the most', async () => {
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

  it('end with a null cursor, also when the last page is full', async () => {
    const { items, meta } = (await service.api('GET', '/v1/models?limit=3')).body;
    expect(items.map(({ id }: { id: string }) => id)).to.deep.equal(['a', 'b', 'c']);
    expect(meta).to.deep.equal({ next_cursor: null });
  });

  it('of models come in the order of the catalogue, and tell nothing of where a model runs', async () => {
    const first = (await service.api('GET', '/v1/models?limit=2')).body;
    const second = (await service.api('GET', `/v1/models?limit=2&cursor=${first.meta.next_cursor}`)).body;
    expect(second.items).to.deep.equal([
      {
        id: 'c',
        display_name: 'Test model',
        context_window: 200_000,
        max_output_tokens: 8_000,
        supports_thinking: true,
      },
    ]);
    expect(second.meta.next_cursor).to.equal(null);
  });

  it('refuse cursors that no page gave', async () => {
    const key = ['2026-11-21T09:48:03.123456Z', 'ses_x'];
    const odd: Record<string, string> = {
      empty: '',
      text: 'nonsense',
      'not base64url': '!!!',
      NUL: '%00',
      'broken encoding': '%zz',
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

  it('ignore query parameters that are not defined', async () => {
    expect((await service.api('GET', '/v1/sessions?other=1&__proto__=2&limit=1')).status).to.equal(200);
  });
});
