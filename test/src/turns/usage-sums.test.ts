import { expect } from 'chai';
import { BY_USER, sumUsage, type UsageGroup, type UsageGrouping, type UsageWindow } from '../../../src/turns/usage.js';
import { forgetMatching, forgetOldMetadata, sumUp } from '../../../src/turns/usage-sums.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURNS = 400;
const DAYS = 6;
const START = Date.parse('2026-11-01T00:00:00Z');
const DAY_MS = 86_400_000;
const GROUPINGS: UsageGrouping[] = [
  ...(['day', 'model', 'session', 'agent', 'agent_version'] as const),
  ...[BY_USER, { metadata: 'team' }, { metadata: 'none' }],
];

const below = (count: number): number => Math.floor(Math.random() * count);
const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
/** Often exactly at midnight, and to the microsecond. */
const someTime = (): string => {
  const micros = pick(['000', '001', '999']);
  const ms = below(3) === 0 ? below(DAYS + 1) * DAY_MS : below(DAYS * DAY_MS);
  return `${new Date(START + ms).toISOString().slice(0, -1)}${micros}Z`;
};

describe('the kept sums of usage', () => {
  const database = useDatabase();
  const db = usePool(database, 4);
  let projectId: string;
  let turns = 0;
  before(async () => {
    ({ projectId } = await createKey(db, { project: 'demo' }));
  });

  /** Turns with one or two models. */
  async function insertTurns(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      turns += 1;
      const at = someTime();
      const team = pick([{}, { team: 'a' }, { team: 'B' }, { team: '' }, { team: 'ä', who: 'x' }]);
      const metadata = JSON.stringify({ ...team, ...pick([{}, {}, { '': 'ada' }, { '': 'Bob' }]) });
      // A child turn counts in the session of its parent, with the agent that it has itself.
      const [agent, version] = pick([[null, null] as const, ['agent_a', 1 + below(3)], ['agent_b', 12]]);
      const currency = pick(['USD', 'USD', 'USD', 'USD', 'EUR', null]);
      const models = pick([['m1'], ['m1'], ['m2'], ['m2', 'm1']]);
      const session = `ses_${below(25)}`;
      for (const model of models) {
        const counts = [1 + below(3), below(2 ** 40), below(9), below(9), below(9), `0.${1 + below(10 ** 6)}`];
        await db.query(
          `INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, currency, is_unpriced, is_first,
             model_calls, input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cost, agent_id, agent_version)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
          [
            ...[`turn_${turns}`, model, projectId, session, at, metadata, currency, below(20) === 0],
            ...[model === models.toSorted()[0], ...counts, agent, version],
          ],
        );
      }
    }
  }

  /** The groups by one query over all rows. */
  async function plain(grouping: UsageGrouping, { from, to }: UsageWindow): Promise<UsageGroup[]> {
    const key = typeof grouping === 'object' ? grouping.metadata : null;
    const groups = {
      day: `to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
      model: 'model_id',
      session: 'session_id',
      agent: 'agent_id',
      agent_version: `(agent_id || '@' || agent_version)`,
    };
    const group = typeof grouping === 'object' ? 'metadata->>$4::text' : groups[grouping];
    const rows = await db.query<{ item: UsageGroup }[]>(
      `SELECT json_build_object('group', name, 'turns', count(DISTINCT turn_id), 'model_calls', sum(model_calls),
         'input_tokens', sum(input_tokens), 'output_tokens', sum(output_tokens),
         'cache_read_input_tokens', sum(cache_read_input_tokens),
         'cache_creation_input_tokens', sum(cache_creation_input_tokens),
         'cost', CASE WHEN NOT bool_or(is_unpriced) AND count(DISTINCT currency) = 1
           THEN json_build_object('amount', trim_scale(sum(cost))::text, 'currency', min(currency)) END) AS item
       FROM (SELECT (${group}) COLLATE "C" AS name, * FROM turn_usage) AS u
       WHERE project_id = $1 AND ended_at >= $2 AND ended_at < $3 GROUP BY name ORDER BY name NULLS LAST`,
      [projectId, from, to, ...(key === null ? [] : [key])],
    );
    return rows.map(({ item }) => item);
  }

  async function paged(grouping: UsageGrouping, window: UsageWindow, limit: number): Promise<UsageGroup[]> {
    const found: UsageGroup[] = [];
    for (let hasMore = true; hasMore;) {
      const page = await sumUsage(db, projectId, window, grouping, { after: found.at(-1)?.group ?? null, limit });
      found.push(...page.rows);
      ({ hasMore } = page);
    }
    return found;
  }

  async function expectSame(): Promise<void> {
    for (let n = 0; n < 6; n += 1) {
      const [from, to] = [someTime(), someTime()].toSorted() as [string, string];
      for (const grouping of GROUPINGS) {
        const what = JSON.stringify({ grouping, from, to });
        expect(await paged(grouping, { from, to }, 1 + below(9)), what).to.deep.equal(
          await plain(grouping, { from, to }),
        );
      }
    }
  }

  it('the kept sums of usage give what one query over all rows gives, whichever rows they have', async () => {
    await insertTurns(TURNS / 2);
    await expectSame();
    for (let part = 0; part < 4; part += 1) {
      await sumUp(db, 1 + below(TURNS / 4));
      await expectSame();
      await insertTurns(TURNS / 8);
    }
    while ((await sumUp(db, 100)) > 0);
    await expectSame();
    const [{ raw }] = await db.query<[{ raw: number }]>(
      'SELECT count(*)::integer AS raw FROM turn_usage WHERE NOT is_summed',
    );
    expect(raw).to.equal(0);
  });

  it('the kept sums of usage have each row once, however many add at the same time and whoever is killed', async () => {
    await insertTurns(100);
    const victim = await openDataSource(database.url, 1, 'test');
    const runner = victim.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`UPDATE turn_usage SET is_summed = true WHERE NOT is_summed`);
    await runner.rollbackTransaction();
    await runner.release();
    await victim.destroy();
    await Promise.all(Array.from({ length: 4 }, () => sumUp(db, 40)));
    await expectSame();
    expect(await sumUp(db, 1000)).to.be.below(101);
    expect(await sumUp(db, 1000)).to.equal(0);
    await expectSame();
  });

  it('the kept sums of usage count turns whose metadata are forgotten in the group null, of old turns and of one value', async () => {
    await insertTurns(60);
    await sumUp(db, 30);
    const teams = async (): Promise<unknown[]> =>
      (
        await paged({ metadata: 'team' }, { from: '2026-01-01T00:00:00.000000Z', to: '2027-01-01T00:00:00.000000Z' }, 9)
      ).map(({ group }) => group);
    expect(await teams()).to.deep.equal(['', 'B', 'a', 'ä', null]);
    expect(await forgetMatching(db, projectId, { key: 'team', value: 'ä' })).to.be.above(0);
    expect(await forgetMatching(db, projectId, { key: 'team', value: 'ä' })).to.equal(0);
    expect(await forgetMatching(db, 'another', { key: 'team', value: 'a' })).to.equal(0);
    expect(await teams()).to.deep.equal(['', 'B', 'a', null]);
    await expectSame();
    const kept = await db.query<{ who: string }[]>(`SELECT DISTINCT metadata->>'who' AS who FROM turn_usage`);
    expect(kept.map(({ who }) => who)).to.have.members(['x', null]);
    expect(await forgetMatching(db, projectId, { session: 'ses_1' })).to.be.above(0);
    await expectSame();
    await sumUp(db, 1000);

    const days = (Date.now() - Date.parse('2026-11-04T12:00:00Z')) / DAY_MS;
    while ((await forgetOldMetadata(db, days, 50)) > 0);
    await expectSame();
    const old = await db.query(
      `SELECT FROM turn_usage WHERE ended_at < '2026-11-04T12:00:00Z' AND metadata::text <> '{}'`,
    );
    expect(old).to.deep.equal([]);
    while ((await forgetOldMetadata(db, 0, 50)) > 0);
    expect(await teams()).to.deep.equal([null]);
    await expectSame();
    expect(await db.query(`SELECT FROM usage_sums WHERE kind LIKE 'metadata%'`)).to.deep.equal([]);
  });
});
