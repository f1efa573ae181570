import { continueAsNew, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { ErasureActivities } from '../activities/erasures/erasure-activities.js';
import type { ErasureInput } from './contract.js';

/** A step does a bounded amount of work. It is tried again until it succeeds: whoever asked for an erasure relies on its end. */
const { erase } = proxyActivities<ErasureActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 s',
  retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'a portion',
});

/** Erases what a project has of a person, portion by portion. The rows of the erasure say what is left. */
export async function erasure({ erasureId }: ErasureInput): Promise<void> {
  for (;;) {
    const { state, nextMs } = await erase({ erasureId });
    setCurrentDetails(state);
    if (nextMs === null) return;
    if (nextMs > 0) await sleep(nextMs);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof erasure>({ erasureId });
  }
}
