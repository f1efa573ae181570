import {
  ActivityNotFoundError,
  ApplicationFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { ANSWERED_SIGNAL, TURN_WORKFLOW, type TurnInput } from '../../workflows/contract.js';
import { within } from '../platform/tracing.js';
import { createDeadline } from './deadline.js';
import { searchAttributesOf } from './search-attributes.js';
import { stateOf, type WorkflowState } from './workflow-state.js';

export type { WorkflowState };

/** What starting a turn's workflow needs: ids only, never content (docs/architecture.md). */
export interface StartableTurn {
  id: string;
  session_id: string;
  project_id: string;
  model_id: string;
  /** Its calls may wait for answers: the session has tools. */
  may_wait: boolean;
  /** How many MCP servers the session names. */
  mcp_servers: number;
  /** Milliseconds since the turn first began to run; absent for one that has not. */
  running_ms?: number;
  /** `traceparent` of the request that queued it, where it is traced. */
  trace: string | null;
}

/** The workflows of turns: workflow id = turn id. */
export interface TurnWorkflows {
  /** Where they run. */
  readonly namespace: string;
  /**
   * Starts the turn's workflow; when it runs already, that is the same success. Returns false when one has ended, unless
   * it shall be started `again`.
   */
  start(turn: StartableTurn, options?: { again: boolean }): Promise<boolean>;
  /** Asks the turn's workflow to cancel; one that is not there has nothing to cancel. */
  cancel(turnId: string): Promise<void>;
  /** Signals that answers of the turn were stored; one that is not there has nothing to wait for. */
  signalAnswers(turnId: string): Promise<void>;
  /** What became of the turn's workflow. */
  describe(turnId: string): Promise<WorkflowState>;
  /** Ends the turn's workflow without running its code. */
  terminate(turnId: string, reason: string): Promise<void>;
  /** Ids of turns whose workflow failed, timed out, was cancelled or terminated since then. */
  listFailed(since: Date): Promise<string[]>;
  /** Fails the activities of the turn that a dead worker holds, so that Temporal retries them at once. Returns how many. */
  failActivities(turnId: string, workerId: string): Promise<number>;
}

export interface TurnWorkflowOptions {
  taskQueue: string;
  /** Beyond the turn's own limit: a server timeout runs no clean-up code. */
  executionTimeoutMs: (turn: StartableTurn) => number;
  maxSteps: number;
  turnTimeoutMs: number;
  /** Client and worker share a process and a connection: the first task comes with the answer to the start. */
  eager: boolean;
  /** Whether the namespace knows the search attributes; asked at each start. */
  searchable: () => boolean;
}

/** PENDING_ACTIVITY_STATE_STARTED. */
const STARTED = 2;
const WORKER_DIED = ApplicationFailure.create({
  message: 'The worker died.',
  type: 'WorkerDied',
  nextRetryDelay: 1,
});

/** The workflows of turns on one client; every call gives up after 10 s, the reconciler tries again. */
export function createTurnWorkflows(client: Client, options: TurnWorkflowOptions): TurnWorkflows {
  const withDeadline = createDeadline(client);
  return {
    namespace: client.options.namespace,

    async start(turn, { again } = { again: false }) {
      const searchable = options.searchable();
      const input: TurnInput = {
        id: turn.id,
        modelId: turn.model_id,
        mcpServers: turn.mcp_servers,
        maxSteps: options.maxSteps,
        remainingMs: Math.max(0, Math.round(options.turnTimeoutMs - (turn.running_ms ?? 0))),
        ...(turn.may_wait && searchable && { searchable }),
      };
      try {
        const start = (): ReturnType<typeof client.workflow.start> =>
          client.workflow.start(TURN_WORKFLOW, {
            workflowId: turn.id,
            args: [input],
            taskQueue: options.taskQueue,
            workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
            workflowIdConflictPolicy: 'USE_EXISTING',
            workflowExecutionTimeout: options.executionTimeoutMs(turn),
            requestEagerStart: options.eager,
            // Where tasks wait for a slot, projects take turns: the activities inherit it.
            priority: { fairnessKey: turn.project_id },
            staticSummary: `turn of ${turn.session_id}`,
            staticDetails: [
              `**Project** ${turn.project_id}`,
              `**Session** ${turn.session_id}`,
              `**Model** ${turn.model_id}`,
              'Cancel here is the same as POST cancel; terminate ends the turn as failed (`terminated`) within 10 s.',
            ].join('\n\n'),
            memo: { project: turn.project_id, session: turn.session_id, model: turn.model_id },
            ...(searchable && { typedSearchAttributes: searchAttributesOf(turn) }),
          });
        await within(turn.trace, () => withDeadline(start));
        return true;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
        throw error;
      }
    },

    async cancel(turnId) {
      await unlessGone(
        withDeadline(() => client.workflow.getHandle(turnId).cancel()),
        undefined,
      );
    },

    async signalAnswers(turnId) {
      await unlessGone(
        withDeadline(() => client.workflow.getHandle(turnId).signal(ANSWERED_SIGNAL)),
        undefined,
      );
    },

    describe(turnId) {
      return unlessGone(withDeadline(() => client.workflow.getHandle(turnId).describe()).then(stateOf), 'not found');
    },

    async terminate(turnId, reason) {
      await unlessGone(
        withDeadline(() => client.workflow.getHandle(turnId).terminate(reason)),
        undefined,
      );
    },

    async listFailed(since) {
      const query =
        `WorkflowType = '${TURN_WORKFLOW}' AND CloseTime > '${since.toISOString()}' ` +
        `AND ExecutionStatus IN ('Failed', 'TimedOut', 'Canceled', 'Terminated')`;
      return withDeadline(async () => {
        const ids: string[] = [];
        for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
        return ids;
      });
    },

    failActivities(turnId, workerId) {
      const fail = async (): Promise<number> => {
        const { raw } = await withDeadline(() => client.workflow.getHandle(turnId).describe());
        const held = (raw.pendingActivities ?? []).filter(
          (activity) => activity.lastWorkerIdentity === workerId && Number(activity.state) === STARTED,
        );
        for (const { activityId } of held) {
          await withDeadline(() => client.activity.fail({ workflowId: turnId, activityId: activityId! }, WORKER_DIED));
        }
        return held.length;
      };
      return unlessGone(fail(), 0);
    },
  };
}

/** Gives `otherwise` when the workflow or its activity is not there, or has ended. */
async function unlessGone<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof ActivityNotFoundError) return otherwise;
    throw error;
  }
}
