import {
  ActivityNotFoundError,
  ApplicationFailure,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import pRetry from 'p-retry';
import { ANSWERED_SIGNAL, SEARCH_ATTRIBUTES, TURN_WORKFLOW, type TurnInput } from '../../workflows/contract.js';
import { within } from '../platform/tracing.js';
import { searchAttributesOf } from './search-attributes.js';

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

/** `waiting`: it runs, and waits for answers. `stuck`: it runs, but no worker can go on with its history. */
export type WorkflowState =
  'running' | 'waiting' | 'stuck' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed out' | 'not found';

/** The workflows of turns: workflow id = turn id. */
export interface TurnWorkflows {
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

const DEADLINE_MS = 10_000;
/** A workflow task fails once while a deploy is under way; one that failed so often fails on every worker. */
const MAX_WORKFLOW_TASK_ATTEMPTS = 8;
/** PENDING_ACTIVITY_STATE_STARTED. */
const STARTED = 2;
const WORKER_DIED = ApplicationFailure.create({
  message: 'The worker died.',
  type: 'WorkerDied',
  nextRetryDelay: 1,
});
/** For a connection that was just lost; the reconciler retries after that. */
const RETRIES = 3;
/** gRPC: RESOURCE_EXHAUSTED, ABORTED, UNAVAILABLE. */
const PASSING: ReadonlySet<number> = new Set([8, 10, 14]);

const WAITS_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitsFor, 'KEYWORD');

const STATES: Record<string, WorkflowState> = {
  RUNNING: 'running',
  CONTINUED_AS_NEW: 'running',
  PAUSED: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed out',
};

function isPassing(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && PASSING.has(cause.code);
}

/** The workflows of turns on one client; every call gives up after 10 s, the reconciler tries again. */
export function createTurnWorkflows(client: Client, options: TurnWorkflowOptions): TurnWorkflows {
  const withDeadline = <T>(work: () => Promise<T>): Promise<T> => {
    const deadline = Date.now() + DEADLINE_MS;
    return pRetry(() => client.withDeadline(deadline, work), {
      retries: RETRIES,
      minTimeout: 50,
      shouldRetry: ({ error }) => isPassing(error),
    });
  };
  return {
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
      try {
        await withDeadline(() => client.workflow.getHandle(turnId).cancel());
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },

    async signalAnswers(turnId) {
      try {
        await withDeadline(() => client.workflow.getHandle(turnId).signal(ANSWERED_SIGNAL));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },

    async describe(turnId) {
      try {
        const { status, raw, typedSearchAttributes } = await withDeadline(() =>
          client.workflow.getHandle(turnId).describe(),
        );
        const state = STATES[status.name] ?? 'running';
        if (state !== 'running') return state;
        if ((raw.pendingWorkflowTask?.attempt ?? 0) > MAX_WORKFLOW_TASK_ATTEMPTS) return 'stuck';
        return typedSearchAttributes.get(WAITS_FOR) === 'answer' ? 'waiting' : 'running';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'not found';
        throw error;
      }
    },

    async terminate(turnId, reason) {
      try {
        await withDeadline(() => client.workflow.getHandle(turnId).terminate(reason));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
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

    async failActivities(turnId, workerId) {
      try {
        const { raw } = await withDeadline(() => client.workflow.getHandle(turnId).describe());
        const held = (raw.pendingActivities ?? []).filter(
          (activity) => activity.lastWorkerIdentity === workerId && Number(activity.state) === STARTED,
        );
        for (const { activityId } of held) {
          await withDeadline(() => client.activity.fail({ workflowId: turnId, activityId: activityId! }, WORKER_DIED));
        }
        return held.length;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || error instanceof ActivityNotFoundError) return 0;
        throw error;
      }
    },
  };
}
