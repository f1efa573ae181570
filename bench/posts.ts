/**
 * Measures how many messages per second the service accepts, 32 in parallel: `npx tsx bench/posts.ts`. Each message goes
 * to its own session, so messages only contend for locks of their project; a run with 32 projects shows the cost of these
 * locks. Starts its own Postgres with flushes to disk; "slow disk" adds 2 ms to each flush, like a network disk
 * (`commit_delay`). No worker runs.
 */
import pg from 'pg';
import { openDataSource } from '../src/db/data-source.js';
import { newId } from '../src/platform/ids.js';
import { createKey } from '../src/projects/api-keys.js';
import { queueTurn } from '../src/turns/queue.js';
import { apiClient, type ApiCall } from '../test/support/client.js';
import { insertSessions } from '../test/support/factories.js';
import { startPostgres } from '../test/support/postgres.js';
import type { TurnService } from '../test/support/turns.js';
import { row, withTurnService } from './support/in-process.js';
import { median, quantile } from './support/run.js';

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
  const targets = await Promise.all(
    Array.from({ length: projects }, () => newTarget(service, POSTS / projects, limit)),
  );
  const took: number[] = [];
  let next = 0;
  const began = performance.now();
  // Replaces the workers: ends turns, so that only a few are open at a time.
  const ending = setInterval(() => {
    void service.db
      .query(
        `WITH ended AS (DELETE FROM open_turns RETURNING turn_id)
         UPDATE turns SET state = 'completed' FROM ended WHERE id = turn_id`,
      )
      .catch(() => undefined);
  }, 50);
  const sender = async (): Promise<void> => {
    for (let n = next++; n < POSTS; n = next++) {
      const target = targets[n % projects]!;
      const sent = performance.now();
      await post(target, target.sessions[Math.floor(n / projects)]!);
      took.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  clearInterval(ending);
  const rate = (POSTS / (performance.now() - began)) * 1000;
  row(name, `${rate.toFixed(0)}/s, p50 ${median(took).toFixed(0)} ms, p95 ${quantile(took, 0.95).toFixed(0)} ms`);
}

const postgres = await startPostgres();
const config = { rateLimitPerMinute: 1_000_000, databasePoolSize: AT_ONCE };
try {
  await withTurnService({ workers: 0, databaseUrl: postgres.url, config }, async (service) => {
    const admin = new pg.Client({ connectionString: postgres.adminUrl });
    await admin.connect();
    const overHttp = async ({ api }: Target, id: string): Promise<void> => {
      const { status, body } = await api('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
      if (status !== 201) throw new Error(JSON.stringify(body));
    };
    // The transaction alone, with one connection per parallel message.
    const db = await openDataSource(postgres.url, AT_ONCE, 'bench');
    const queued = ({ projectId }: Target, id: string) => queueTurn(db, projectId, id, MESSAGE, 'bench');
    await measure('(warm-up)', service, 1, FAR, queued);
    for (const disk of ['this disk', 'slow disk']) {
      if (disk === 'slow disk') {
        await admin.query('ALTER SYSTEM SET commit_delay = 2000');
        await admin.query('ALTER SYSTEM SET commit_siblings = 0');
        await admin.query('SELECT pg_reload_conf()');
      }
      for (const [name, projects, limit] of VARIANTS) {
        await measure(`transactions, ${name}, ${disk}`, service, projects, limit, queued);
        if (disk === 'this disk')
          await measure(`POSTs over HTTP, ${name}, ${disk}`, service, projects, limit, overHttp);
      }
    }
    await db.destroy();
    await admin.end();
  });
} finally {
  await postgres.stop();
}
