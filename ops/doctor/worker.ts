import { countWorkers } from '../../src/workers/workers.js';
import type { Config } from '../../src/platform/config.js';
import { temporalSettings } from '../../src/temporal/connection.js';
import { CheckError, type Check } from './check.js';
import { withSchema } from './database.js';

export function workerCheck({ databaseUrl, taskQueue }: Config): Check {
  return {
    part: 'worker',
    remedy: 'Check DATABASE_URL: workers hold their leases in Postgres.',
    async run() {
      const { namespace } = temporalSettings();
      const workers = await withSchema(databaseUrl, (db) => countWorkers(db, namespace, taskQueue));
      if (workers > 0) return `${workers} on task queue ${taskQueue}`;
      throw new CheckError(
        `no worker lives on the task queue ${taskQueue}: turns stay queued`,
        'Start a worker (npm run worker) with the same DATABASE_URL, TASK_QUEUE, TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
      );
    },
  };
}
