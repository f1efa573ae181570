import { proxyActivities } from '@temporalio/workflow';

const { noop } = proxyActivities<{ noop(): Promise<void> }>({ startToCloseTimeout: '10 s' });

/** The smallest possible workflow: one activity. */
export async function noopWorkflow(): Promise<void> {
  await noop();
}
