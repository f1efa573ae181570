import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { eventually } from './eventually.js';
import { findWorkflow } from './turn-workflow.js';

const DIED = ApplicationFailure.create({ message: 'The worker died.', type: 'WorkerDied', nextRetryDelay: 1 });

/** PENDING_ACTIVITY_STATE_STARTED */
const STARTED = 2;

/** Waits for the given attempt of the turn's only activity and takes its worker away. */
export async function failAttempt(client: Client, turnId: string, attempt: number): Promise<void> {
  let activityId: string | undefined;
  await eventually(`attempt ${attempt} runs`, async () => {
    // The workflow starts a moment after the message is stored.
    const running = (await findWorkflow(client, turnId))?.raw.pendingActivities?.find(
      ({ attempt: at, state }) => Number(at) === attempt && Number(state) === STARTED,
    );
    activityId = running?.activityId ?? undefined;
    return activityId !== undefined;
  });
  await client.activity.fail({ workflowId: turnId, activityId: activityId! }, DIED);
}
