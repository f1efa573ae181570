import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { eventually } from './eventually.js';

/** The workflow of a turn; null if there is none or Temporal is away. */
export function findWorkflow(client: Client, turnId: string): Promise<WorkflowExecutionDescription | null> {
  return client.workflow
    .getHandle(turnId)
    .describe()
    .catch(() => null);
}

/**
 * Describes the workflow of a turn. The API answers 201 before it starts the workflow: waits until the workflow exists.
 */
export async function describeTurn(client: Client, turnId: string): Promise<WorkflowExecutionDescription> {
  let description: WorkflowExecutionDescription | null = null;
  await eventually(`Temporal has the workflow of ${turnId}`, async () => {
    description = await findWorkflow(client, turnId);
    return description !== null;
  });
  return description!;
}

/** Waits until the workflow of a turn exists and is complete. */
export function workflowCompleted(client: Client, turnId: string, timeoutMs?: number): Promise<void> {
  const isCompleted = async (): Promise<boolean> => (await findWorkflow(client, turnId))?.status.name === 'COMPLETED';
  return eventually(`the workflow of ${turnId} is complete`, isCompleted, timeoutMs);
}

/** Waits until an activity of the turn has completed for its workflow. */
export function activityCompleted(client: Client, turnId: string): Promise<void> {
  return eventually('an activity has completed', async () => {
    const { events } = await client.workflow.getHandle(turnId).fetchHistory();
    return events!.some(({ activityTaskCompletedEventAttributes: completed }) => completed != null);
  });
}

/** The activities of a turn that wait or run, in Temporal's own form. */
export async function pendingActivities(
  client: Client,
  turnId: string,
): Promise<NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>> {
  return (await describeTurn(client, turnId)).raw.pendingActivities ?? [];
}
