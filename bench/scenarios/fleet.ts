import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import { Lease } from '../../src/db/lease.js';
import { createLogger } from '../../src/platform/logger.js';
import type { ReconcileDeps } from '../../src/reconciler/deps.js';
import { cancelOverdue } from '../../src/reconciler/overdue-cancels.js';
import { reconcileStale } from '../../src/reconciler/stale-turns.js';
import { createPartitions, dropOldPartitions } from '../../src/stream/delta-partitions.js';
import { Notifier } from '../../src/stream/notify.js';
import { pause, shown, timed, until } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const NAMESPACE = 'bench';
const TEMPORAL_MS = 5;
const STANDBY_SECONDS = 15;
const OLD = 'deltas_200001010000';
const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(4);

const ms = (took: number): string => `${took.toFixed(0)} ms`;
const log = createLogger('warn', 'bench');

/** A stream stores up to four rows a second, 2,400 in a partition of ten minutes. Temporal is replaced by answers after 5 ms. */
export default scenario({
  measures:
    'what one reconciler does for a large fleet: the clean-up of deltas, rounds over quiet turns, processes that stand by (0 leaves a part out)',
  options: { streams: 10_000, rows: 240, quiet: 5000, processes: 300 },
  async run(bench, { streams, rows, quiet, processes }) {
    const postgres = await bench.postgres();
    const db = await openDataSource(postgres.url, 10, 'bench');
    bench.atEnd(() => db.destroy());
    await db.query(`INSERT INTO projects (id, name) VALUES ('proj_bench', 'bench')`);
    await createPartitions(db);
    if (streams > 0) await measureDeltas(db, streams, rows);
    if (quiet > 0) await measureRounds(db, quiet);
    if (processes > 0) await measureStandBys(db, postgres.url, processes);
  },
});

/** Open turns that were quiet for a minute. */
async function openTurns(db: Database, count: number, prefix: string): Promise<void> {
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
function keepFlushing(db: Database): { took: number[]; stop: () => Promise<void> } {
  const took: number[] = [];
  let isStopped = false;
  const flush = (): Promise<unknown> =>
    db.query(
      `INSERT INTO deltas (turn_id, position, call, last, message_id, runs)
       SELECT 'turn_live' || n, 1, 1, 1, 'msg_1', '[]' FROM generate_series(1, 100) AS n`,
    );
  const loop = (async () => {
    while (!isStopped) {
      took.push(await timed(flush));
      await pause(20);
    }
  })();
  return { took, stop: () => ((isStopped = true), loop) };
}

async function measureDeltas(db: Database, streams: number, rows: number): Promise<void> {
  const open = streams / 10;
  await openTurns(db, open, 'streams');
  await db.query(`CREATE TABLE ${OLD} PARTITION OF deltas FOR VALUES FROM ('2000-01-01') TO ('2000-01-02')`);
  for (let from = 1; from <= rows; from += 20) {
    await db.query(
      `INSERT INTO deltas
       SELECT '2000-01-01 12:00Z', 'turn_streams' || n, 1, 1, last, 'msg_1', json_build_array(json_build_array('agent.message.delta', $4::text))
       FROM generate_series($2::integer, $3::integer) AS last, generate_series(1, $1::integer) AS n`,
      [streams, from, Math.min(from + 19, rows), TEXT],
    );
  }
  const [size] = await db.query<[{ size: string }]>(`SELECT pg_size_pretty(pg_total_relation_size('${OLD}')) AS size`);
  const stored = `${(streams * rows).toLocaleString('en')} rows, ${size.size}`;
  row('partition', `${streams.toLocaleString('en')} streams, ${stored}`);
  const flushing = keepFlushing(db);
  const moved = await timed(() => dropOldPartitions(db));
  await db.query(`COMMENT ON TABLE ${OLD} IS '${new Date(Date.now() - 61_000).toISOString()}'`);
  const dropped = await timed(() => dropOldPartitions(db));
  await flushing.stop();
  row('move the deltas of open turns', `${ms(moved)} (${open.toLocaleString('en')} turns)`);
  row('detach and drop', ms(dropped));
  row('flushes meanwhile', shown(flushing.took));
  await db.query('DELETE FROM open_turns');
}

async function measureRounds(db: Database, quiet: number): Promise<void> {
  await openTurns(db, quiet, 'quiet');
  let calls = 0;
  const answer =
    <T>(value: T) =>
    async (): Promise<T> => {
      calls += 1;
      await pause(TEMPORAL_MS);
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
  row('look at all quiet turns', `${quiet.toLocaleString('en')} turns, ${calls} calls, ${ms(took)}`);
  calls = 0;
  const idle = await timed(() => reconcileStale(deps));
  row('a round right after', `${calls} calls, ${ms(idle)}`);
  row('a look for cancel requests', ms(await timed(() => cancelOverdue(deps))));
}

async function measureStandBys(db: Database, url: string, processes: number): Promise<void> {
  const sources: Database[] = [];
  for (let n = 0; n < processes; n += 1) sources.push(await openDataSource(url, 1, `process ${n}`));
  const options = { name: 'reconciler:bench', durationMs: 2500, intervalMs: 1000 };
  const leases = sources.map((source) => new Lease(source, { ...options, holder: randomUUID() }));
  const hasLeader = (): boolean => leases.some(({ isHeld }) => isHeld);
  await until(hasLeader);
  const usage = async (): Promise<Record<'xids' | 'wal', number>> => {
    const [now] = await db.query<[Record<'xids' | 'wal', string>]>(
      `SELECT pg_current_xact_id()::text::bigint AS xids, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal`,
    );
    return { xids: Number(now.xids), wal: Number(now.wal) };
  };
  const before = await usage();
  const leaderless = { looks: 0, count: 0 };
  for (const end = performance.now() + STANDBY_SECONDS * 1000; performance.now() < end; leaderless.looks += 1) {
    if (!hasLeader()) leaderless.count += 1;
    await pause(10);
  }
  const after = await usage();
  const perSecond = (figure: 'xids' | 'wal'): string => ((after[figure] - before[figure]) / STANDBY_SECONDS).toFixed(1);
  row(`${processes} processes stand by`, `${perSecond('xids')} transaction ids/s, ${perSecond('wal')} bytes of WAL/s`);
  row('looks without a leader', `${leaderless.count} of ${leaderless.looks}`);
  await Promise.all(leases.map((lease) => lease.release()));
  await Promise.all(sources.map((source) => source.destroy()));
}
