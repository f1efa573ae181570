import { Counter, Histogram } from 'prom-client';
import { databaseGauges } from '../platform/database-metrics.js';
import { registry } from '../platform/metrics.js';

export const scheduleRuns = new Counter({
  name: 'schedule_runs_total',
  help: 'Times of schedules, by outcome: started, or the reason of the skip',
  labelNames: ['outcome'],
  registers: [registry],
});

export const scheduleDelaySeconds = new Histogram({
  name: 'schedule_delay_seconds',
  help: 'From the scheduled time to the queued turn',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 3600],
  registers: [registry],
});

export const schedulePauses = new Counter({
  name: 'schedule_pauses_total',
  help: 'Schedules that the service paused because of failed turns',
  registers: [registry],
});

databaseGauges([
  {
    name: 'schedules_overdue_seconds',
    help: 'For how long the most overdue schedule has been due',
    query: `SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(next_run_at)))::double precision AS value
      FROM schedules WHERE state = 'active'`,
  },
  {
    name: 'schedules_unsynced',
    help: 'Changed schedules that Temporal does not follow yet',
    query: `SELECT count(*)::integer AS value FROM schedules WHERE version <> synced_version`,
  },
]);
