/**
 * A process of its own that looks at a worker from outside, so that neither the load nor a pause of it hides anything: its row
 * in the table of leases, as other processes see it, and its metrics. Started by `fork` with the address of the database and of
 * the worker; answers the message `report`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const SAMPLE_INTERVAL_MS = 250;
const METRICS_INTERVAL_MS = 5_000;
const [databaseUrl, workerUrl] = process.argv.slice(2) as [string, string];

/** Times in ms. */
export interface LeaseReport {
  samples: number;
  renewals: number;
  longest_between_renewals: number;
  smallest_remaining: number;
  /** More than one: the worker was started again. */
  leases: number;
  declared_dead: number;
}

/** One reading of the worker's metrics; times in seconds. */
export interface MetricsReport {
  /** Milliseconds since 1970. */
  at: number;
  slots_used: number;
  loop_p99: number;
  loop_max: number;
  pool_busy: number;
  pool_waiting: number;
  cpu: number;
}

const lease: LeaseReport = {
  samples: 0,
  renewals: 0,
  longest_between_renewals: 0,
  smallest_remaining: Infinity,
  leases: 0,
  declared_dead: 0,
};
const metrics: MetricsReport[] = [];
const last = new Map<string, { until: number; isDead: boolean }>();

async function sampleLease(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ id: string; until: number; remaining: number; is_dead: boolean }>(
    `SELECT id, round(extract(epoch FROM until) * 1000)::float AS until, dead_at IS NOT NULL AS is_dead,
       round(extract(epoch FROM until - clock_timestamp()) * 1000)::float AS remaining
     FROM workers`,
  );
  lease.samples += 1;
  for (const { id, until, remaining, is_dead: isDead } of rows) {
    const before = last.get(id);
    if (before === undefined) lease.leases += 1;
    if (isDead && before?.isDead !== true) lease.declared_dead += 1;
    lease.smallest_remaining = Math.min(lease.smallest_remaining, remaining);
    if (before !== undefined && until !== before.until) {
      lease.renewals += 1;
      lease.longest_between_renewals = Math.max(lease.longest_between_renewals, until - before.until);
    }
    last.set(id, { until, isDead });
  }
}

async function readMetrics(): Promise<void> {
  // On a connection of its own: the server may close one that is kept just when the next request comes.
  const response = await fetch(`${workerUrl}/metrics`, { headers: { connection: 'close' } }).catch(() => null);
  const text = await response?.text().catch(() => null);
  if (typeof text !== 'string') return;
  const sum = (name: string, label = ''): number =>
    [...text.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)`, 'gm'))].reduce(
      (total, [, labels = '', value]) => total + (labels.includes(label) ? Number(value) : 0),
      0,
    );
  metrics.push({
    at: Date.now(),
    slots_used: sum('temporal_worker_task_slots_used', 'ActivityWorker"'),
    loop_p99: sum('nodejs_eventloop_lag_p99_seconds'),
    loop_max: sum('nodejs_eventloop_lag_max_seconds'),
    pool_busy: sum('db_pool_connections', 'busy'),
    pool_waiting: sum('db_pool_connections', 'waiting'),
    cpu: sum('process_cpu_seconds_total'),
  });
}

const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
const repeat = async (intervalMs: number, work: () => Promise<void>): Promise<never> => {
  for (;;) await Promise.all([work(), sleep(intervalMs)]);
};
process.on('message', () => process.send!({ lease, metrics }));
process.once('disconnect', () => process.exit(0));
await Promise.all([repeat(SAMPLE_INTERVAL_MS, () => sampleLease(client)), repeat(METRICS_INTERVAL_MS, readMetrics)]);
