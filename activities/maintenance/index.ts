import { ApplicationFailure } from '@temporalio/common';
import pLimit from 'p-limit';
import { isDatabaseAway } from '../../src/db/transaction.js';
import { ServiceError } from '../../src/platform/errors.js';
import { maintenanceItems, maintenanceLastEnd, maintenanceRuns } from '../../src/platform/metrics.js';
import type { MaintenanceActivities } from './activities.js';
import { TASKS, type MaintenanceDeps } from './tasks.js';

/** The activities of the maintenance workflow; the worker of turns runs them, too. */
export function createMaintenanceActivities(deps: MaintenanceDeps): MaintenanceActivities {
  // One step at a time: the tasks share the pool for background work with the leader's lease.
  const limit = pLimit(1);
  return {
    maintain: (step) => limit(() => maintain(deps, step)),
  };
}

async function maintain(
  deps: MaintenanceDeps,
  { task, from }: Parameters<MaintenanceActivities['maintain']>[0],
): ReturnType<MaintenanceActivities['maintain']> {
  const began = performance.now();
  try {
    const step = await TASKS[task](deps, from);
    for (const [item, count] of Object.entries(step.counts)) maintenanceItems.inc({ task, item }, count);
    maintenanceRuns.inc({ task, outcome: step.next === null ? 'done' : 'more' });
    maintenanceLastEnd.set({ task, outcome: 'ok' }, Date.now() / 1000);
    const removed = Object.values(step.counts).reduce((sum, count) => sum + count, 0);
    deps.log.info({ task, removed, ms: Math.round(performance.now() - began) }, 'maintenance');
    return step;
  } catch (err) {
    maintenanceRuns.inc({ task, outcome: 'failed' });
    maintenanceLastEnd.set({ task, outcome: 'failed' }, Date.now() / 1000);
    deps.log.warn({ err, task }, 'a step of maintenance failed');
    const away = isDatabaseAway(err) || (err instanceof ServiceError && err.type === 'storage_error');
    // A fixed text, because an error message may quote content, and histories must not contain content.
    throw ApplicationFailure.create({
      message: 'Maintenance failed. The worker’s log has the reason.',
      type: away ? 'Away' : 'MaintenanceFailed',
      nonRetryable: !away,
    });
  }
}
