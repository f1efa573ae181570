import { WorkflowNotFoundError } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import { taskFailure } from './describe-workflow.js';
import { withClient } from './with-client.js';

/** A workflow that runs and whose workflow task fails: no worker can continue it. */
export interface FailingTask {
  id: string;
  attempt: number;
  /** Message of the failure; null if the history no longer has it. */
  reason: string | null;
}

const QUESTIONS_AT_ONCE = 16;
/** A worker that ends in the middle of a task fails it once. */
const MIN_ATTEMPT = 3;

/**
 * Those of the workflows whose workflow task has failed twice or more in a row. Workflows that Temporal does not have are left out.
 * @throws if Temporal does not answer within `timeoutMs`
 */
export function findFailingTasks(ids: readonly string[], timeoutMs: number): Promise<FailingTask[]> {
  return withClient(async (client) => {
    const limit = pLimit(QUESTIONS_AT_ONCE);
    const found = await Promise.all(ids.map((id) => limit(() => failingTask(client, id))));
    return found.filter((task) => task !== null);
  }, timeoutMs);
}

async function failingTask(client: Client, id: string): Promise<FailingTask | null> {
  try {
    const { raw } = await client.workflow.getHandle(id).describe();
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    return attempt < MIN_ATTEMPT ? null : { id, attempt, reason: await taskFailure(client, id) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
