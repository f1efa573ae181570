import { proxyActivities } from '@temporalio/workflow';

const { noop } = proxyActivities<{ noop(): Promise<void> }>({ startToCloseTimeout: '10 s' });

/** The least that a turn can be for Temporal: one activity. */
export async function noopWorkflow(): Promise<void> {
  await noop();
}
