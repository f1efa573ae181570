import { Counter, Histogram } from 'prom-client';
import { databaseGauges } from '../platform/database-metrics.js';
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

export const webhooksDisabled = new Counter({
  name: 'webhooks_disabled_total',
  help: 'Webhooks that the service disabled: the receiver answered 410 (gone), or failed for 72 hours (failures)',
  labelNames: ['reason'],
  registers: [registry],
});
// An increase from nothing to one is none: the series exist from the start.
for (const reason of ['gone', 'failures']) webhooksDisabled.inc({ reason }, 0);

/** Age in seconds of the earliest time in a column of pending deliveries; 0 if there is none or it is in the future. */
const pendingAge = (column: string): string =>
  `SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(${column})))::double precision AS value
   FROM webhook_deliveries WHERE state = 'pending'`;

databaseGauges([
  {
    name: 'webhook_deliveries_oldest_pending_seconds',
    help: 'Age of the oldest pending delivery',
    query: pendingAge('created_at'),
  },
  {
    name: 'webhook_attempts_overdue_seconds',
    help: 'For how long the most overdue attempt has been due',
    query: pendingAge('next_attempt_at'),
  },
  {
    name: 'webhooks_failing',
    help: 'Enabled webhooks with nothing but failed attempts for an hour',
    query: `SELECT count(*)::double precision AS value FROM webhooks
      WHERE enabled AND deleted_at IS NULL AND failing_since < now() - interval '1 hour'`,
  },
]);
