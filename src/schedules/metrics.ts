import { databaseGauges } from '../db/database-metrics.js';
import { counter, histogram } from '../platform/metrics.js';

export const scheduleRuns = counter(
  'schedule_runs_total',
  'Scheduled times, by outcome: started, or the reason why they were skipped',
  { labels: ['outcome'] },
);
export const scheduleDelaySeconds = histogram('schedule_delay_seconds', 'From the scheduled time to the queued turn', {
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 3600],
});
export const schedulePauses = counter(
  'schedule_pauses_total',
  'Schedules that the service paused because of failed turns',
);

databaseGauges([
  {
    name: 'schedules_overdue_seconds',
    help: 'How long the most overdue schedule has been due',
    query: `SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(next_run_at)))::double precision AS value
      FROM schedules WHERE state = 'active'`,
  },
  {
    name: 'schedules_unsynced',
    help: 'Changed schedules that are not yet in Temporal',
    query: `SELECT count(*)::integer AS value FROM schedules WHERE version <> synced_version`,
  },
]);
