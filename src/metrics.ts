import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';

/** The process' metrics; whoever measures something registers it here. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });

export const httpRequestSeconds = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from request to the end of its response, by route pattern; streams last as long as their turn',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  registers: [registry],
});

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

export const sweepActions = new Counter({
  name: 'sweep_actions_total',
  help: 'What the sweep did for turns that showed no sign of life',
  labelNames: ['action'],
  registers: [registry],
});

export const openStreams = new Gauge({
  name: 'event_streams_open',
  help: 'Event streams that this process serves',
  registers: [registry],
});
