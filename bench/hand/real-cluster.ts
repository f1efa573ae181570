/**
 * `npm run check -- real-cluster --minutes 5`: a worker that holds 200 model calls is killed. Then two API and four worker
 * processes run turns all the time, and every 20 s a worker is killed and started again 5 s later. Then the checker judges.
 * Prints how long it took until the calls of a killed worker ran on another one; fails when anything was lost or came
 * twice. The Temporal server is that of deploy/plain/temporal, on Postgres; `--temporal dev` takes the development server,
 * which needs no Go.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareLoad, type Load } from '../../test/support/fault-load.js';
import { startFaultSystem } from '../../test/support/fault-system.js';
import { measureHeldTakeover } from '../../test/support/held-takeover.js';
import { startPostgres } from '../../test/support/postgres.js';
import { startTemporalServer } from '../../test/support/temporal.js';
import { startTemporalCluster } from '../../test/support/temporal-cluster.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    every: { type: 'string', default: '20' },
    held: { type: 'string', default: '200' },
    temporal: { type: 'string', default: 'cluster' },
  },
});
const MINUTES = Number(values.minutes);
const KILL_INTERVAL_MS = Number(values.every) * 1000;
const DOWN_MS = 5_000;
const WORKERS = 4;
const WAVE = 6;
const PACE = { words: 20, everyMs: 100 };

const postgres = await startPostgres();
const temporal =
  values.temporal === 'dev' ? await startTemporalServer({}) : await startTemporalCluster(postgres.adminUrl);
process.env.TEST_DATABASE_URL = postgres.adminUrl;
process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
const system = await startFaultSystem({ apis: 2, workers: 1 });
console.table([await measureHeldTakeover(system, Number(values.held))]);
for (let n = 1; n < WORKERS; n += 1) await system.addRole('worker');
const startLoad = await prepareLoad(system);
const until = performance.now() + MINUTES * 60_000;
const kills: { worker: number; at: string }[] = [];
const loads: Load[] = [];

const killing = async (): Promise<void> => {
  for (let n = 0; ; n += 1) {
    await sleep(KILL_INTERVAL_MS - DOWN_MS);
    if (performance.now() > until) return;
    const worker = n % system.workers.length;
    kills.push({ worker, at: new Date().toISOString() });
    await system.workers[worker]!.kill();
    await sleep(DOWN_MS);
    await system.workers[worker]!.start();
  }
};

/** Two waves overlap, so that a worker never dies between turns. */
const loading = async (): Promise<void> => {
  while (performance.now() < until) {
    const load = await startLoad(WAVE, PACE);
    loads.push(load);
    await Promise.all((await load.turns).map((turn) => system.ended(turn, 180_000)));
  }
};

/** By kill: the model calls that it cut off, and the seconds until each was made again by another worker. */
const takeovers = () =>
  system.db.query<Record<string, number>[]>(
    `SELECT number, worker, count(again.started_at)::integer AS calls,
       round(min(extract(epoch FROM again.started_at - kill.at)), 1)::float AS first_s,
       round((percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM again.started_at - kill.at)))::numeric, 1)::float
         AS median_s,
       round(max(extract(epoch FROM again.started_at - kill.at)), 1)::float AS last_s
     FROM unnest($1::integer[], $2::timestamptz[]) WITH ORDINALITY AS kill(worker, at, number)
     LEFT JOIN LATERAL (
       SELECT (SELECT min(later.started_at) FROM model_calls later
               WHERE later.turn_id = cut.turn_id AND later.step = cut.step AND later.started_at > cut.started_at) AS started_at
       FROM model_calls cut
       WHERE cut.ended_at IS NULL AND cut.started_at BETWEEN kill.at - interval '10 s' AND kill.at) AS again ON true
     GROUP BY number, worker, kill.at ORDER BY number`,
    [kills.map(({ worker }) => worker), kills.map(({ at }) => at)],
  );

let fault: unknown;
try {
  await Promise.all([killing(), loading(), sleep(2_000).then(loading)]);
  const ends = await system.verify(180_000);
  for (const load of loads) await load.check(ends);
} catch (error) {
  fault = error;
}
console.table(await takeovers());
const verdict = fault === undefined ? { lost: 0, twice: 0 } : {};
console.log(JSON.stringify({ minutes: MINUTES, turns: loads.length * WAVE, kills: kills.length, ...verdict }));
if (fault !== undefined) console.error(fault);
await system.close();
await temporal.stop();
await postgres.stop();
process.exit(fault === undefined ? 0 : 1);
