import { databaseGauge, databaseGauges } from '../db/database-metrics.js';
import { loadLongestRunningMs } from '../turns/running-time.js';
import { IS_DUE } from './stale-turns.js';

export const TURNS_DUE = `
  SELECT count(*)::integer AS value FROM open_turns JOIN turns ON turns.id = turn_id WHERE ${IS_DUE}`;

/** If one of them grows, the reconciler does not keep up. */
databaseGauges([
  {
    name: 'turns_due',
    help: 'Open turns that made no progress and that the reconciler has yet to check',
    query: TURNS_DUE,
  },
  {
    name: 'delta_partitions',
    help: 'Partitions of deltas, one for each ten minutes: three ahead, the current one and those not yet removed',
    query: `SELECT count(*)::integer AS value FROM pg_inherits WHERE inhparent = 'deltas'::regclass`,
  },
]);

databaseGauge(
  { name: 'turns_oldest_running_seconds', help: 'Longest time spent by a running turn, without its waits for answers' },
  async (db) => (await loadLongestRunningMs(db)) / 1000,
);
