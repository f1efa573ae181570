import { databaseGauges } from '../db/database-metrics.js';
import { counter, histogram } from '../platform/metrics.js';

export const webhookAttempts = counter('webhook_attempts_total', 'Requests to receivers of webhooks, by outcome', {
  labels: ['outcome'],
});
export const webhookAttemptSeconds = histogram(
  'webhook_attempt_duration_seconds',
  'One request to the receiver of a webhook',
  { buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15] },
);
export const webhooksDisabled = counter(
  'webhooks_disabled_total',
  'Webhooks that the service disabled: the receiver answered 410 (gone), or failed for 72 hours (failures)',
  { labels: ['reason'] },
);
// Prometheus sees no increase in a series that begins at one, so the series exist from the start.
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
    help: 'How long the most overdue attempt has been due',
    query: pendingAge('next_attempt_at'),
  },
  {
    name: 'webhooks_failing',
    help: 'Enabled webhooks whose attempts have all failed for an hour',
    query: `SELECT count(*)::double precision AS value FROM webhooks
      WHERE enabled AND deleted_at IS NULL AND failing_since < now() - interval '1 hour'`,
  },
]);
