import { Gauge } from 'prom-client';
import type { DataSource } from 'typeorm';
import { registry } from './metrics.js';

interface PoolCounts {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
}

const pools = new Set<PoolCounts>();
new Gauge({
  name: 'db_pool_connections',
  help: 'Postgres connections of this process by use, and requests that wait for one',
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
      sum(({ waitingCount }) => waitingCount),
    );
  },
});

/** Shows the use of this pool in the metrics until the function returned is called. */
export function observePool(db: DataSource): () => void {
  const pool = (db.driver as unknown as { master: PoolCounts }).master;
  pools.add(pool);
  return () => void pools.delete(pool);
}

/** A gauge whose samples a query gives: each row is a `value` and its labels. */
export interface DatabaseGauge {
  name: string;
  help: string;
  labels?: string[];
  query: string;
}

/**
 * Registers gauges of the whole service: every API process reports the same values. The function returned shows them for
 * a database, until the function that it returns in turn is called. A process has one database; while it is away there
 * are no values: a gap says that better than an old figure.
 */
export function databaseGauges(definitions: DatabaseGauge[]): (db: DataSource) => () => void {
  const databases = new Set<DataSource>();
  const gauges = definitions.map(
    ({ name, help, labels = [], query }) =>
      new Gauge({
        name,
        help: `${help}; every API process reports the same value`,
        labelNames: labels,
        registers: [registry],
        async collect() {
          const [db] = databases;
          this.reset();
          const rows = await db?.query<({ value: number } & Record<string, string>)[]>(query).catch(() => []);
          for (const { value, ...sample } of rows ?? []) this.set(sample, value);
        },
      }),
  );
  return (db) => {
    databases.add(db);
    return () => {
      databases.delete(db);
      for (const gauge of gauges) gauge.reset();
    };
  };
}

/** The conditions are that of the partial index on open turns: ended ones are not read. */
export const OPEN_TURNS = `
  SELECT state, count(id)::integer AS value
  FROM unnest(ARRAY['queued', 'running']) AS states(state)
  LEFT JOIN (SELECT id, state FROM turns WHERE state IN ('queued', 'running')) AS open USING (state)
  GROUP BY state`;

const age = (since: string): string =>
  `coalesce(extract(epoch FROM clock_timestamp() - min(${since})), 0)::double precision AS value`;

/** Shows the open turns of the database in the metrics until the function returned is called. */
export const observeOpenTurns = databaseGauges([
  {
    name: 'turns_open',
    help: 'Queued and running turns of the whole service',
    labels: ['state'],
    query: OPEN_TURNS,
  },
  {
    name: 'turns_oldest_queued_seconds',
    help: 'Age of the oldest turn that no worker has begun',
    query: `SELECT ${age('queued_at')} FROM turns WHERE state = 'queued'`,
  },
  {
    name: 'turns_waiting',
    help: 'Running turns of the whole service that wait for answers',
    query: `SELECT count(DISTINCT turn_id)::integer AS value FROM required_actions WHERE state = 'open'`,
  },
  {
    name: 'turns_oldest_waiting_seconds',
    help: 'Age of the oldest question that is not answered',
    query: `SELECT ${age('asked_at')} FROM required_actions WHERE state = 'open'`,
  },
]);
