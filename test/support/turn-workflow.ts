import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { eventually } from './eventually.js';

/**
 * Describes the workflow of a turn. The API answers 201 before it starts the workflow: waits until the workflow exists.
 */
export async function describeTurn(client: Client, turnId: string): Promise<WorkflowExecutionDescription> {
  let description: WorkflowExecutionDescription | undefined;
  await eventually(`Temporal has the workflow of ${turnId}`, async () => {
    description = await client.workflow
      .getHandle(turnId)
      .describe()
      .catch((error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      });
    return description !== undefined;
  });
  return description!;
}

/** The activities of a turn that wait or run, in Temporal's own form. */
export async function pendingActivities(
  client: Client,
  turnId: string,
): Promise<NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>> {
  return (await describeTurn(client, turnId)).raw.pendingActivities ?? [];
}
