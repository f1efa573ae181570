import { Counter, Gauge, Histogram } from 'prom-client';
import type { DataSource } from 'typeorm';
import { registry } from '../platform/metrics.js';

export const webhookAttempts = new Counter({
  name: 'webhook_attempts_total',
  help: 'Requests to receivers of webhooks, by outcome',
  labelNames: ['outcome'],
  registers: [registry],
});

export const webhookAttemptSeconds = new Histogram({
  name: 'webhook_attempt_duration_seconds',
  help: 'One request to the receiver of a webhook',
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
  registers: [registry],
});

const databases = new Set<DataSource>();

const gauges = [
  pendingGauge(
    'webhook_deliveries_oldest_pending_seconds',
    'Age of the oldest pending delivery; every API process reports the same value',
    'created_at',
  ),
  pendingGauge(
    'webhook_attempts_overdue_seconds',
    'For how long the most overdue attempt has been due; every API process reports the same value',
    'next_attempt_at',
  ),
];

/** Seconds since the earliest time in a column of pending deliveries; 0 when that is in the future, or there are none. */
function pendingGauge(name: string, help: string, column: string): Gauge {
  const age = `greatest(0, extract(epoch FROM clock_timestamp() - min(${column})))::double precision`;
  return new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const [db] = databases;
      this.reset();
      // Without a database there is no value: a gap in the figures says so.
      const rows = db?.query<{ age: number }[]>(`SELECT ${age} AS age FROM webhook_deliveries WHERE state = 'pending'`);
      for (const row of (await rows?.catch(() => [])) ?? []) this.set(row.age);
    },
  });
}

/** Shows the pending deliveries of the database in the metrics until the function returned is called. */
export function observeDeliveries(db: DataSource): () => void {
  databases.add(db);
  return () => {
    databases.delete(db);
    for (const gauge of gauges) gauge.reset();
  };
}
