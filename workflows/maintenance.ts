import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type {
  MaintenanceActivities,
  MaintenanceCounts,
  MaintenancePosition,
} from '../activities/maintenance/activities.js';
import type { MaintenanceInput } from './contract.js';

/** A step does a bounded amount of work. While the database is unreachable it is retried. */
const { maintain } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '1 s', maximumInterval: '1 minute', maximumAttempts: 20 },
});

/** Runs a maintenance task step by step until nothing is left. Returns the counts of removed items. */
export async function maintenance({
  task,
  from = null,
  counts = {},
}: MaintenanceInput & { from?: MaintenancePosition | null; counts?: MaintenanceCounts }): Promise<MaintenanceCounts> {
  for (;;) {
    const step = await maintain({ task, from });
    for (const [item, count] of Object.entries(step.counts)) counts[item] = (counts[item] ?? 0) + count;
    setCurrentDetails(JSON.stringify(counts));
    if (step.next === null) return counts;
    from = step.next;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof maintenance>({ task, from, counts });
  }
}
