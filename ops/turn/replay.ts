import { fileURLToPath } from 'node:url';
import { WorkflowNotFoundError } from '@temporalio/common';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { withClient } from '../../src/temporal/with-client.js';

/** A turn that the workflow code of this build cannot continue. */
export interface Unreplayable {
  id: string;
  reason: string;
}

/** From dist/ops/turn, and from ops/turn of the sources, which use the same bundle. */
const BUNDLE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/workflow-bundle.js' : '../../workflow-bundle.js',
  import.meta.url,
);

/** Keeps the SDK from writing its own lines, in a process of its own: what the replay of a workflow meets is in its result. */
export function silenceTemporal(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
}

/**
 * Replays the histories of the workflows with the workflow code of this build, one after the other; changes nothing. Workflows that
 * Temporal does not have are left out: they start anew.
 * @throws if Temporal does not answer within `timeoutMs`
 */
export function findUnreplayable(ids: readonly string[], timeoutMs: number): Promise<Unreplayable[]> {
  return withClient(async (client) => {
    async function* histories() {
      for (const workflowId of ids) {
        const history = await client.workflow
          .getHandle(workflowId)
          .fetchHistory()
          .catch((error: unknown) => {
            if (error instanceof WorkflowNotFoundError) return null;
            throw error;
          });
        if (history !== null) yield { workflowId, history };
      }
    }
    const found: Unreplayable[] = [];
    const results = Worker.runReplayHistories({ workflowBundle: { codePath: fileURLToPath(BUNDLE) } }, histories());
    for await (const { workflowId, error } of results) {
      if (error !== undefined) found.push({ id: workflowId, reason: error.message });
    }
    return found;
  }, timeoutMs);
}
