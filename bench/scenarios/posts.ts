import pg from 'pg';
import { openDataSource } from '../../src/db/data-source.js';
import { newId } from '../../src/platform/ids.js';
import { createKey } from '../../src/projects/api-keys.js';
import { acceptMessage } from '../../test/support/accept-message.js';
import { apiClient, type ApiCall } from '../../test/support/client.js';
import { insertSessions } from '../../test/support/factories.js';
import type { TurnService } from '../../test/support/turns.js';
import { inParallel, shown, timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const AT_ONCE = 32;
const POSTS = 960;
/** Limits of running turns: one above the number of connections, one below it. */
const [FAR, NEAR] = [1_000_000, 290];
const VARIANTS = [
  ['one project', 1, FAR],
  ['one project near its limit', 1, NEAR],
  [`${AT_ONCE} projects`, AT_ONCE, NEAR],
] as const;
const MESSAGE = { content: 'Hello', files: [], skills: [] };

interface Target {
  projectId: string;
  api: ApiCall;
  sessions: string[];
}

/**
 * Each message goes to its own session, so messages only contend for locks of their project; many projects show the cost of
 * these locks. A slow disk adds 2 ms to each flush, like one in a network (`commit_delay`). No worker runs.
 */
export default scenario({
  measures: 'messages accepted per second, 32 in parallel, on a disk as it is and on a slow one',
  options: {},
  async run(bench) {
    const postgres = await bench.postgres();
    const config = { rateLimitPerMinute: 1_000_000, databasePoolSize: AT_ONCE };
    const service = await bench.service({ workers: 0, databaseUrl: postgres.url, config });
    // The transaction alone, with one connection per parallel message.
    const db = await openDataSource(postgres.url, AT_ONCE, 'bench');
    bench.atEnd(() => db.destroy());
    const overHttp = async ({ api }: Target, id: string): Promise<void> => {
      const { status, body } = await api('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
      if (status !== 201) throw new Error(JSON.stringify(body));
    };
    const queued = ({ projectId }: Target, id: string) => acceptMessage(db, projectId, id, MESSAGE, 'bench');
    await measure('(warm-up)', service, 1, FAR, queued);
    for (const disk of ['this disk', 'slow disk']) {
      if (disk === 'slow disk') await slowDown(postgres.adminUrl);
      for (const [name, projects, limit] of VARIANTS) {
        await measure(`transactions, ${name}, ${disk}`, service, projects, limit, queued);
        if (disk === 'this disk')
          await measure(`POSTs over HTTP, ${name}, ${disk}`, service, projects, limit, overHttp);
      }
    }
  },
});

/** A project with sessions that have no turn yet. */
async function newTarget({ db, url }: TurnService, sessions: number, maxRunningTurns: number): Promise<Target> {
  const { projectId, key } = await createKey(db, { project: newId('project'), maxRunningTurns });
  const ids = await insertSessions(db, projectId, sessions);
  return { projectId, api: apiClient(url, key, () => undefined), sessions: ids };
}

async function measure(
  name: string,
  service: TurnService,
  projects: number,
  limit: number,
  post: (target: Target, sessionId: string) => Promise<unknown>,
): Promise<void> {
  const made = Array.from({ length: projects }, () => newTarget(service, POSTS / projects, limit));
  const targets = await Promise.all(made);
  const took: number[] = [];
  // Replaces the workers: ends turns, so that only a few are open at a time.
  const ending = setInterval(() => {
    void service.db
      .query(
        `WITH ended AS (DELETE FROM open_turns RETURNING turn_id)
         UPDATE turns SET state = 'completed' FROM ended WHERE id = turn_id`,
      )
      .catch(() => undefined);
  }, 50);
  const all = await timed(() =>
    inParallel(AT_ONCE, POSTS, async (n) => {
      const target = targets[n % projects]!;
      took.push(await timed(() => post(target, target.sessions[Math.floor(n / projects)]!)));
    }),
  );
  clearInterval(ending);
  row(name, `${((POSTS / all) * 1000).toFixed(0)}/s, ${shown(took)}`);
}

async function slowDown(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query('ALTER SYSTEM SET commit_delay = 2000');
  await admin.query('ALTER SYSTEM SET commit_siblings = 0');
  await admin.query('SELECT pg_reload_conf()');
  await admin.end();
}
