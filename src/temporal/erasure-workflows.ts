import type { Client } from '@temporalio/client';
import { ERASURE_WORKFLOW, type ErasureInput } from '../../workflows/contract.js';
import { createDeadline } from './deadline.js';

/** The workflows of erasures: workflow id = erasure id. */
export interface ErasureWorkflows {
  /** Starts the workflow; success if it runs already. A second run goes on with what is left. */
  start(erasure: { id: string; project_id: string }): Promise<void>;
}

export function createErasureWorkflows(client: Client, { taskQueue }: { taskQueue: string }): ErasureWorkflows {
  const withDeadline = createDeadline(client);
  return {
    async start({ id, project_id }) {
      const input: ErasureInput = { erasureId: id };
      await withDeadline(() =>
        client.workflow.start(ERASURE_WORKFLOW, {
          workflowId: id,
          args: [input],
          taskQueue,
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          workflowIdConflictPolicy: 'USE_EXISTING',
          priority: { fairnessKey: project_id },
          staticSummary: 'erasure of a person',
          staticDetails: `**Project** ${project_id}\n\nIts row in \`erasures\` says what is gone. It is started again until it is done.`,
          memo: { project: project_id },
        }),
      );
    },
  };
}
