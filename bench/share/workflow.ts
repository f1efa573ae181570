import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Extra } from './extras.js';

/** One activity, with what a turn of the service gives it. */
export async function shareTurn(extras: Extra[]): Promise<void> {
  const has = (extra: Extra): boolean => extras.includes(extra);
  const { work } = proxyActivities<{ work(): Promise<void> }>({
    startToCloseTimeout: '10 minutes',
    ...(has('heartbeat timeout and retry policy') && {
      heartbeatTimeout: '90 s',
      retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
    }),
    ...(has('activity summary') && { summary: 'model call 1 · scripted-1' }),
  });
  if (has('current details')) setCurrentDetails('step 1: model call');
  await work();
}
