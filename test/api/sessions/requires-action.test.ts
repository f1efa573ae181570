import { expect } from 'chai';
import { PreparedClient } from '../../../src/db/prepared-client.js';
import { insertSessions, insertTurn, insertWaitingTurn } from '../../support/factories.js';
import { useService } from '../../support/use.js';

/** contract.md §6: `required_actions` of a session, and the list's filter. */
describe('sessions that wait for an answer', () => {
  let waiting: string;
  let others: string[];
  const service = useService();
  before(async () => {
    const [a, b, c] = await Promise.all(
      [1, 2, 3].map(
        async () => (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string,
      ),
    );
    await insertTurn(service.db, b!, 'running');
    await insertWaitingTurn(service.db, a!, { input: { to: 'ada@example.com' } });
    [waiting, others] = [a!, [b!, c!]];
  });

  const list = (query: string) => service.api('GET', `/v1/sessions?${query}`);
  const idsOf = async (query: string): Promise<string[]> =>
    (await list(query)).body.items.map(({ id }: { id: string }) => id);

  it('show the answers they wait for', async () => {
    const { body } = await service.api('GET', `/v1/sessions/${waiting}`);
    expect(body.status).to.equal('RUNNING');
    expect(body.required_actions).to.have.length(1);
    const { expires_at, ...action } = body.required_actions[0];
    expect(action).to.deep.equal({
      type: 'tool_confirmation',
      tool_use_id: 'toolu_1',
      name: 'mcp__mail__send',
      input: { to: 'ada@example.com' },
    });
    expect(expires_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('are found by requires_action=true, the others by requires_action=false', async () => {
    expect(await idsOf('requires_action=true')).to.deep.equal([waiting]);
    expect(await idsOf('requires_action=false')).to.have.members(others);
    expect(await idsOf('')).to.have.members([waiting, ...others]);
  });

  it('are filtered by true or false only', async () => {
    for (const value of ['', '1', 'TRUE', 'yes']) {
      const { status, body } = await list(`requires_action=${value}`);
      expect(status, value).to.equal(422);
      expect(body.error.details.errors[0].path, value).to.equal('/query/requires_action');
    }
  });

  it('are paged by cursors of the same filter only', async () => {
    const { body } = await list('requires_action=false&limit=1');
    const cursor = body.meta.next_cursor as string;
    expect((await idsOf(`requires_action=false&limit=1&cursor=${cursor}`))[0]).to.be.oneOf(others);
    for (const query of ['requires_action=true&', '']) {
      const { status, body: refused } = await list(`${query}cursor=${cursor}`);
      expect([status, refused.error.type]).to.deep.equal([422, 'invalid_cursor']);
    }
  });

  it('are found by the open turns, not by reading all sessions', async () => {
    const [{ project_id: projectId }] = await service.db.query<[{ project_id: string }]>(
      'SELECT project_id FROM sessions WHERE id = $1',
      [waiting],
    );
    await insertSessions(service.db, projectId, 3000);
    await service.db.query('ANALYZE sessions, open_turns, required_actions');
    const asked: [string, unknown[]][] = [];
    // oxlint-disable-next-line typescript/unbound-method -- applied to the client it was called on
    const query = PreparedClient.prototype.query;
    PreparedClient.prototype.query = function (this: PreparedClient, ...args: unknown[]): never {
      const [text, values] = args as [string, unknown[]];
      if (typeof text === 'string' && text.includes('FROM open_turns o')) asked.push([text, values]);
      return query.apply(this, args);
    };
    try {
      expect(await idsOf('requires_action=true')).to.deep.equal([waiting]);
    } finally {
      PreparedClient.prototype.query = query;
    }
    expect(asked).to.not.be.empty;
    for (const [text, values] of asked) {
      const [plan] = await service.db.query<object[]>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      const read = JSON.stringify(plan).matchAll(/"Relation Name":"sessions"[^{}]*?"Actual Rows":(\d+)[^{}]*/g);
      const rows = [...read].map(
        ([node, actual]) => Number(actual) + Number(/Removed by \w+":(\d+)/.exec(node)?.[1] ?? 0),
      );
      expect(rows, JSON.stringify(plan)).to.not.be.empty;
      expect(Math.max(...rows), JSON.stringify(plan)).to.be.lessThan(10);
    }
  });
});
