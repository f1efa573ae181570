import { Gauge } from 'prom-client';
import type { Database } from './db.js';
import { registry } from '../platform/metrics.js';

interface PoolCounts {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
  waitingForShare: number;
}

const pools = new Set<PoolCounts>();
new Gauge({
  name: 'db_pool_connections',
  help: 'Postgres connections of this process by state; waiting counts queries that wait for a connection',
  labelNames: ['state'],
  registers: [registry],
  collect() {
    const sum = (count: (pool: PoolCounts) => number): number => [...pools].reduce((n, pool) => n + count(pool), 0);
    this.set(
      { state: 'idle' },
      sum(({ idleCount }) => idleCount),
    );
    this.set(
      { state: 'busy' },
      sum(({ totalCount, idleCount }) => totalCount - idleCount),
    );
    this.set(
      { state: 'waiting' },
      sum(({ waitingCount, waitingForShare }) => waitingCount + waitingForShare),
    );
  },
});

/** Adds this pool's usage to the metrics. Returns a function that removes it. */
export function observePool(db: Database): () => void {
  const pool = (db.driver as unknown as { master: PoolCounts }).master;
  pools.add(pool);
  return () => void pools.delete(pool);
}

export interface TaskQueueBacklog {
  type: 'workflow' | 'activity';
  tasks: number;
  ageSeconds: number;
}

interface ObservedService {
  db: Database;
  /** True if this process reads the gauges. Only one process does: each scrape costs queries. */
  isLeader: () => boolean;
  readBacklogs: () => Promise<TaskQueueBacklog[]>;
}

const services = new Set<ObservedService>();
const serviceGauges: Gauge[] = [];

/** Adds the service-wide gauges while this process leads. Returns a function that removes them. */
export function observeService(service: ObservedService): () => void {
  services.add(service);
  return () => {
    services.delete(service);
    for (const gauge of serviceGauges) clear(gauge);
  };
}

/** A sample of a gauge: its value and labels. Null means no sample. */
type Sample = { value: number | null } & Record<string, unknown>;

interface ServiceGauge {
  name: string;
  help: string;
  labels?: string[];
}

/**
 * Registers a service-wide gauge. It is read from the newest service of the process. It has no value if this process does not
 * lead or the source does not answer.
 */
function serviceGauge(
  { name, help, labels = [] }: ServiceGauge,
  read: (service: ObservedService) => Promise<Sample[]>,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const service = [...services].findLast(({ isLeader }) => isLeader());
      const samples = service === undefined ? [] : await read(service).catch(() => []);
      clear(this);
      for (const { value, ...sample } of samples) if (value !== null) this.set(sample as Record<string, string>, value);
    },
  });
  serviceGauges.push(gauge);
}

/** `reset` alone would set a gauge without labels to 0. */
function clear(gauge: Gauge): void {
  gauge.reset();
  gauge.remove({});
}

/** Registers service-wide gauges from a query. Each row is a `value` and its labels. */
export function databaseGauges(definitions: (ServiceGauge & { query: string })[]): void {
  for (const { query, ...gauge } of definitions) serviceGauge(gauge, ({ db }) => db.query<Sample[]>(query));
}

/** Registers a service-wide gauge with a value that is read from the database. */
export function databaseGauge(gauge: ServiceGauge, read: (db: Database) => Promise<number>): void {
  serviceGauge(gauge, async ({ db }) => [{ value: await read(db) }]);
}

serviceGauge(
  {
    name: 'task_queue_backlog_tasks',
    help: 'Tasks of turns that wait for a worker, as Temporal estimates them',
    labels: ['type'],
  },
  async ({ readBacklogs }) => (await readBacklogs()).map(({ type, tasks }) => ({ type, value: tasks })),
);
serviceGauge(
  { name: 'task_queue_backlog_age_seconds', help: 'Age of the oldest task that waits for a worker', labels: ['type'] },
  async ({ readBacklogs }) => (await readBacklogs()).map(({ type, ageSeconds }) => ({ type, value: ageSeconds })),
);

databaseGauges([
  {
    name: 'postgres_transaction_id_age',
    help: 'Age in transactions of the oldest row that vacuum has not frozen; Postgres refuses writes near 2,100 million',
    query: 'SELECT max(age(datfrozenxid))::double precision AS value FROM pg_database',
  },
  {
    name: 'postgres_replication_lag_seconds',
    help: 'Replay lag of the slowest standby; no value without a standby or without the role pg_monitor',
    query: 'SELECT max(extract(epoch FROM replay_lag))::double precision AS value FROM pg_stat_replication',
  },
  {
    name: 'postgres_standbys',
    help: 'Standbys that this server streams to',
    query: 'SELECT count(*)::integer AS value FROM pg_stat_replication',
  },
  {
    name: 'postgres_connections_ratio',
    help: 'Share of the connections of max_connections that are in use; at 1, Postgres refuses new ones',
    // Every user may read these counts, and not those of pg_stat_activity.
    query: `SELECT sum(numbackends)::double precision
        / (current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer) AS value
      FROM pg_stat_database`,
  },
  {
    name: 'postgres_database_bytes',
    help: 'Size of the database of the service',
    query: 'SELECT pg_database_size(current_database())::double precision AS value',
  },
  {
    name: 'postgres_wal_archive_failing',
    help: '1 while the newest attempt to archive WAL has failed; no value where nothing was ever archived or failed to be',
    query: `SELECT CASE WHEN coalesce(last_archived_time, last_failed_time) IS NULL THEN NULL
        WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN 1 ELSE 0 END AS value
      FROM pg_stat_archiver`,
  },
  {
    name: 'postgres_notification_queue_ratio',
    help: 'Used share of the notification queue; at 1, transactions with NOTIFY fail',
    query: 'SELECT pg_notification_queue_usage() AS value',
  },
]);
