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

const oldestPending = new Gauge({
  name: 'webhook_deliveries_oldest_pending_seconds',
  help: 'Age of the oldest pending delivery; every API process reports the same value',
  registers: [registry],
  async collect() {
    this.reset();
    mostOverdue.reset();
    for (const { age, overdue } of await pendingAges()) {
      this.set(age);
      mostOverdue.set(overdue);
    }
  },
});
const mostOverdue = new Gauge({
  name: 'webhook_attempts_overdue_seconds',
  help: 'For how long the most overdue attempt has been due; every API process reports the same value',
  registers: [registry],
});

/** Empty while the database is away: a gap in the figures says so. */
async function pendingAges(): Promise<{ age: number; overdue: number }[]> {
  const [db] = databases;
  if (db === undefined) return [];
  return db
    .query<{ age: number; overdue: number }[]>(
      `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::double precision AS age,
         greatest(0, (SELECT extract(epoch FROM clock_timestamp() - min(next_attempt_at))
           FROM webhook_deliveries WHERE state = 'pending'))::double precision AS overdue
       FROM webhook_deliveries WHERE state = 'pending'`,
    )
    .catch(() => []);
}

/** Shows the pending deliveries of the database in the metrics until the function returned is called. */
export function observeDeliveries(db: DataSource): () => void {
  databases.add(db);
  return () => {
    databases.delete(db);
    oldestPending.reset();
  };
}
