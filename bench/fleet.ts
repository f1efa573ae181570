/**
 * What one reconciler does for a large fleet: the clean-up of deltas, rounds over quiet turns, and the processes that
 * stand by. `npx tsx bench/fleet.ts --streams 10000 --quiet 5000 --processes 300`. Starts its own Postgres; Temporal is
 * replaced by answers after 5 ms.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { DataSource } from 'typeorm';
import { openDataSource } from '../src/db/data-source.js';
import { createLogger } from '../src/platform/logger.js';
import { Lease } from '../src/db/lease.js';
import type { ReconcileDeps } from '../src/reconciler/deps.js';
import { cancelOverdue } from '../src/reconciler/rounds.js';
import { reconcileStale } from '../src/reconciler/stale-turns.js';
import { createPartitions, dropOldPartitions } from '../src/stream/delta-partitions.js';
import { Notifier } from '../src/stream/notify.js';
import { startPostgres } from '../test/support/postgres.js';
import { row } from './support/in-process.js';
import { quantile } from './support/run.js';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    /** A stream stores up to four rows a second, 2,400 in a partition of ten minutes. */
    rows: { type: 'string', default: '240' },
    quiet: { type: 'string', default: '5000' },
    processes: { type: 'string', default: '300' },
  },
});
const [STREAMS, ROWS, QUIET, PROCESSES] = [values.streams, values.rows, values.quiet, values.processes].map(Number) as [
  number,
  number,
  number,
  number,
];
const NAMESPACE = 'bench';
const TEMPORAL_MS = 5;
const STANDBY_SECONDS = 15;
const OLD = 'deltas_200001010000';
const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(4);

const postgres = await startPostgres();
const db = await openDataSource(postgres.url, 10, 'bench');
const log = createLogger('warn', 'bench');

const ms = (took: number): string => `${took.toFixed(0)} ms`;
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Open turns that were quiet for a minute. */
async function openTurns(count: number, prefix: string): Promise<void> {
  await db.query(
    `WITH sessions AS (
       INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
       SELECT 'ses_' || $1 || n, 'proj_bench', 'm', false, '{}', '{}' FROM generate_series(1, $2::integer) AS n RETURNING id)
     INSERT INTO turns (id, session_id, project_id, number, state, position, queued_at, started_at, progress_at)
     SELECT 'turn_' || substr(id, 5), id, 'proj_bench', 1, 'running', 1, now(), now(), now() - interval '1 minute' FROM sessions`,
    [prefix, count],
  );
  await db.query(
    `INSERT INTO open_turns SELECT id, session_id, project_id, $2 FROM turns WHERE id LIKE 'turn_' || $1 || '%'`,
    [prefix, NAMESPACE],
  );
  await db.query('ANALYZE turns');
}

/** Flushes of a worker with 100 streams, all the time; returns how long each took. */
function keepFlushing(): { took: number[]; stop: () => Promise<void> } {
  const took: number[] = [];
  let isStopped = false;
  const flush = (): Promise<unknown> =>
    db.query(
      `INSERT INTO deltas (turn_id, position, attempt, last, message_id, runs)
       SELECT 'turn_live' || n, 1, 1, 1, 'msg_1', '[]' FROM generate_series(1, 100) AS n`,
    );
  const loop = (async () => {
    while (!isStopped) {
      took.push(await timed(flush));
      await sleep(20);
    }
  })();
  const stop = (): Promise<void> => {
    isStopped = true;
    return loop;
  };
  return { took, stop };
}

async function measureDeltas(): Promise<void> {
  const open = STREAMS / 10;
  await openTurns(open, 'streams');
  await db.query(`CREATE TABLE ${OLD} PARTITION OF deltas FOR VALUES FROM ('2000-01-01') TO ('2000-01-02')`);
  for (let from = 1; from <= ROWS; from += 20) {
    await db.query(
      `INSERT INTO deltas
       SELECT '2000-01-01 12:00Z', 'turn_streams' || n, 1, 1, last, 'msg_1', json_build_array(json_build_array('agent.message.delta', $4::text))
       FROM generate_series($2::integer, $3::integer) AS last, generate_series(1, $1::integer) AS n`,
      [STREAMS, from, Math.min(from + 19, ROWS), TEXT],
    );
  }
  const [size] = await db.query<[{ size: string }]>(`SELECT pg_size_pretty(pg_total_relation_size('${OLD}')) AS size`);
  row(
    'partition',
    `${STREAMS.toLocaleString('en')} streams, ${(STREAMS * ROWS).toLocaleString('en')} rows, ${size.size}`,
  );
  const flushing = keepFlushing();
  const moved = await timed(() => dropOldPartitions(db));
  await db.query(`COMMENT ON TABLE ${OLD} IS '${new Date(Date.now() - 61_000).toISOString()}'`);
  const dropped = await timed(() => dropOldPartitions(db));
  await flushing.stop();
  row('move the deltas of open turns', `${ms(moved)} (${open.toLocaleString('en')} turns)`);
  row('detach and drop', ms(dropped));
  row('flushes meanwhile', `p50 ${ms(quantile(flushing.took, 0.5))}, longest ${ms(Math.max(...flushing.took))}`);
  await db.query('DELETE FROM open_turns');
}

async function measureRounds(): Promise<void> {
  await openTurns(QUIET, 'quiet');
  let calls = 0;
  const answer =
    <T>(value: T) =>
    async (): Promise<T> => {
      calls += 1;
      await sleep(TEMPORAL_MS);
      return value;
    };
  const workflows = {
    namespace: NAMESPACE,
    start: answer(true),
    describe: answer('running'),
    listFailed: answer([]),
  } as unknown as ReconcileDeps['workflows'];
  const deps: ReconcileDeps = {
    db,
    log,
    workflows,
    notifier: new Notifier(db, log),
    count: () => undefined,
    turnTimeoutMs: 3_600_000,
  };
  const took = await timed(async () => {
    while (await reconcileStale(deps));
  });
  row('look at all quiet turns', `${QUIET.toLocaleString('en')} turns, ${calls} calls, ${ms(took)}`);
  calls = 0;
  const idle = await timed(() => reconcileStale(deps));
  row('a round right after', `${calls} calls, ${ms(idle)}`);
  row('a look for cancel requests', ms(await timed(() => cancelOverdue(deps))));
}

async function measureStandBys(): Promise<void> {
  const sources: DataSource[] = [];
  for (let n = 0; n < PROCESSES; n += 1) sources.push(await openDataSource(postgres.url, 1, `process ${n}`));
  const options = { name: 'reconciler:bench', durationMs: 2500, intervalMs: 1000 };
  const leases = sources.map((source) => new Lease(source, { ...options, holder: randomUUID() }));
  while (!leases.some(({ isHeld }) => isHeld)) await sleep(50);
  const usage = async (): Promise<{ xids: number; wal: number }> => {
    const [now] = await db.query<[{ xids: number; wal: number }]>(
      `SELECT pg_current_xact_id()::text::bigint AS xids, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal`,
    );
    return { xids: Number(now.xids), wal: Number(now.wal) };
  };
  const before = await usage();
  const leaderless = { looks: 0, count: 0 };
  for (const until = performance.now() + STANDBY_SECONDS * 1000; performance.now() < until; leaderless.looks += 1) {
    if (!leases.some(({ isHeld }) => isHeld)) leaderless.count += 1;
    await sleep(10);
  }
  const after = await usage();
  const perSecond = (figure: 'xids' | 'wal'): string => ((after[figure] - before[figure]) / STANDBY_SECONDS).toFixed(1);
  row(`${PROCESSES} processes stand by`, `${perSecond('xids')} transaction ids/s, ${perSecond('wal')} bytes of WAL/s`);
  row('looks without a leader', `${leaderless.count} of ${leaderless.looks}`);
  await Promise.all(leases.map((lease) => lease.release()));
  await Promise.all(sources.map((source) => source.destroy()));
}

try {
  await db.query(`INSERT INTO projects (id, name) VALUES ('proj_bench', 'bench')`);
  await createPartitions(db);
  if (STREAMS > 0) await measureDeltas();
  if (QUIET > 0) await measureRounds();
  if (PROCESSES > 0) await measureStandBys();
} finally {
  await db.destroy();
  await postgres.stop();
}
