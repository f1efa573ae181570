import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import { Listener } from '../../src/db/listen.js';
import { newId } from '../../src/platform/ids.js';
import { createLogger } from '../../src/platform/logger.js';
import { createKey } from '../../src/projects/api-keys.js';
import { createPartitions } from '../../src/stream/delta-partitions.js';
import { channelOf, CHANNELS, parseNotification } from '../../src/stream/notify.js';
import { insertSessions } from '../../test/support/factories.js';
import { cpuOfPostgres, quantile } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const WORKERS = 4;
const STREAMS = [100, 400, 1600, 3200, 6400, 12_800];
/** Milliseconds between two tokens of a stream. */
const PACE = 20;
/** A lag beyond this means that this machine is full. */
const FULL_MS = 1000;
const WORKER = fileURLToPath(new URL('../streaming-worker.ts', import.meta.url));

/**
 * Four worker processes write the deltas of more and more streams, 50 tokens/s each, as the service does: live by NOTIFY, and
 * stored every 250 ms. One process listens on all channels.
 */
export default scenario({
  measures: 'the CPU that streamed deltas cost one Postgres, and their lag, until this machine is full',
  options: { seconds: 10 },
  async run(bench, { seconds }) {
    const postgres = await bench.postgres();
    const db = await openDataSource(postgres.url, 4, 'bench');
    bench.atEnd(() => db.destroy());
    const { projectId } = await createKey(db, { project: 'demo' });
    await createPartitions(db);
    let lags: number[] = [];
    const onPayload = (payload: string): void => {
      const notification = parseNotification(payload);
      if (notification?.kind !== 'deltas') return;
      const now = Date.now();
      for (const [, ...tokens] of notification.runs) lags.push(...tokens.map((token) => now - Number(token)));
    };
    const listener = new Listener(
      postgres.url,
      { onPayload, onConnect: () => undefined },
      createLogger('warn', 'bench'),
    );
    bench.atEnd(() => listener.close());
    const channels = new Set<string>();
    for (let id = 0; channels.size < CHANNELS; id += 1) channels.add(channelOf(String(id)));
    await Promise.all(Array.from(channels, (channel) => listener.add(channel)));

    for (const streams of STREAMS) {
      const ids = await runningTurns(db, projectId, streams);
      lags = [];
      const before = cpuOfPostgres(postgres.pid);
      const workers = Array.from({ length: WORKERS }, (_, index) => {
        const own = ids.filter((_id, number) => number % WORKERS === index);
        return fork(WORKER, [postgres.url, own.join(','), String(seconds), String(PACE)]);
      });
      const codes = await Promise.all(workers.map(async (worker) => (await once(worker, 'exit'))[0] as number));
      if (codes.some((code) => code !== 0)) throw new Error(`workers ended with ${codes.join(', ')}`);
      const each = ((cpuOfPostgres(postgres.pid) - before) / lags.length) * 1_000_000;
      const p95 = quantile(lags, 0.95);
      row(
        `${streams} streams: ${(streams * 1000) / PACE} deltas/s`,
        `${(lags.length / seconds).toFixed(0)}/s came, p95 ${p95.toFixed(0)} ms`,
        `${each.toFixed(0)} ms of Postgres' CPU per 1,000`,
      );
      if (p95 > FULL_MS) break;
    }
  },
});

/** Stores turns whose first model call runs; returns their ids. */
async function runningTurns(db: Database, projectId: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('turn'));
  const sessions = await insertSessions(db, projectId, count);
  await db.query(
    `INSERT INTO turns (id, session_id, project_id, number, state, position, model_calls,
       queued_at, started_at, transition_at, progress_at)
     SELECT id, session_id, $3, 1, 'running', 1, 1, now(), now(), now(), now()
     FROM unnest($1::text[], $2::text[]) AS t(id, session_id)`,
    [ids, sessions, projectId],
  );
  return ids;
}
