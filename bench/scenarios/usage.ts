import { openDataSource } from '../../src/db/data-source.js';
import { createKey } from '../../src/projects/api-keys.js';
import { isoIn } from '../../src/platform/timestamps.js';
import { sumUsage, type UsageGrouping } from '../../src/turns/usage.js';
import { sumUp } from '../../src/turns/usage-sums.js';
import { shown, timed, timedEach } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const DAYS = 30;
const DAY_MS = 86_400_000;
const GROUPINGS: UsageGrouping[] = ['day', 'model', 'session', { metadata: 'team' }, { metadata: 'customer' }];
const SAMPLES = 10;
const BATCH = 5000;

/** SQL writes the usage of turns that ended in the last thirty days. Then the pages of GET usage are timed. */
export default scenario({
  measures: 'pages of GET usage for a project, ten turns per session, before and after maintenance has summed them up',
  options: { turns: 1_000_000, customers: 20_000 },
  async run(bench, { turns, customers }) {
    const postgres = await bench.postgres();
    const db = await openDataSource(postgres.url, 4, 'bench', 'migration');
    bench.atEnd(() => db.destroy());
    const { projectId } = await createKey(db, { project: 'demo' });
    const took = await timed(() =>
      db.query(
        `INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, model_calls, input_tokens, output_tokens,
           cache_read_input_tokens, cache_creation_input_tokens, cost, currency, is_unpriced, is_first)
         SELECT 'turn_' || md5(n::text), 'model_' || n % 3, $1, 'ses_' || lpad((n / 10)::text, 26, '0'),
           now() - (1 - n::float8 / $2) * interval '${DAYS} days',
           json_build_object('team', 'team ' || n / 10 % 7, 'customer', 'customer ' || n / 10 * 7919 % $3), 2, n % 90000, n % 3000, n % 500, n % 70,
           (n % 90000)::numeric / 1000000, 'USD', false, true
         FROM generate_series(1, $2::integer) AS n`,
        [projectId, turns, customers],
      ),
    );
    await db.query('VACUUM (ANALYZE) turn_usage');
    row('filled in', `${(took / 1000).toFixed(0)} s`);
    const window = { from: isoIn(-DAYS * DAY_MS), to: isoIn(0) };
    const measure = async (when: string): Promise<void> => {
      for (const grouping of GROUPINGS) {
        const name = typeof grouping === 'object' ? `metadata.${grouping.metadata}` : grouping;
        const page = (after: string | null) => sumUsage(db, projectId, window, grouping, { after, limit: 100 });
        row(`${name}, ${when}`, shown(await timedEach(SAMPLES, () => page(null))));
        if (grouping !== 'session') continue;
        const middle = `ses_${String(Math.floor(turns / 20)).padStart(26, '0')}`;
        row(`${name}, a page in the middle, ${when}`, shown(await timedEach(SAMPLES, () => page(middle))));
      }
    };
    await measure('unsummed');
    let steps = 0;
    const summed = await timed(async () => {
      while ((await sumUp(db, BATCH)) === BATCH) steps += 1;
    });
    row('summed up', `${(summed / 1000).toFixed(0)} s in ${steps} steps`);
    await db.query('VACUUM (ANALYZE) turn_usage, usage_sums');
    const [{ count }] = await db.query<[{ count: number }]>('SELECT count(*)::integer AS count FROM usage_sums');
    row('rows of sums', String(count));
    await measure('summed');
  },
});
