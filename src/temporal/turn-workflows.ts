import {
  ActivityNotFoundError,
  ApplicationFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import {
  ANSWERED_SIGNAL,
  ASKING_SIGNAL,
  TURN_WORKFLOW,
  type AskingCall,
  type TurnInput,
} from '../../workflows/contract.js';
import type { TurnFields } from '../db/entities/turns.js';
import { withTrace } from '../platform/tracing.js';
import { createDeadline } from './deadline.js';
import { searchAttributesOf } from './search-attributes.js';
import { startedActivities, stateOf, type StartedActivity, type WorkflowState } from './workflow-state.js';

export type { StartedActivity, WorkflowState };

/** What the start of a turn's workflow needs: ids only, never content (docs/architecture.md). */
export type StartableTurn = Pick<
  TurnFields,
  'id' | 'sessionId' | 'projectId' | 'modelId' | 'mcpServers' | 'agents' | 'runningMs' | 'trace'
>;

/** The workflows of turns: workflow id = turn id. */
export interface TurnWorkflows {
  readonly namespace: string;
  /**
   * Starts the turn's workflow; success if it runs already, unless `onlyNew`. Returns false if it has ended, unless
   * `again` allows a second run.
   */
  start(turn: StartableTurn, options?: { again?: boolean; onlyNew?: boolean }): Promise<boolean>;
  /** Requests the cancellation of the turn's workflow. Does nothing if there is no workflow. */
  cancel(turnId: string): Promise<void>;
  /** Signals that answers of the turn were stored. Does nothing if there is no workflow. */
  signalAnswers(turnId: string): Promise<void>;
  /** Signals that a call waits for a person, or no longer. Does nothing if there is no workflow. */
  signalAsking(turnId: string, call: AskingCall): Promise<void>;
  /** Reads the state of the turn's workflow, and which of its activities workers hold. */
  describe(turnId: string): Promise<{ state: WorkflowState; started: StartedActivity[] }>;
  /** Ends the turn's workflow without running its code. Returns false if it has ended. */
  terminate(turnId: string, reason: string): Promise<boolean>;
  /**
   * Lists the turns whose workflow failed, timed out or was terminated since `since`. A workflow that was cancelled has ended its
   * turn before.
   */
  listFailed(since: Date): Promise<string[]>;
  /**
   * Lists turns whose workflow runs and started before `before`: at most so many, those that started last. `next`: the `before` of the
   * next page; null after the last one. Temporal's list lags behind.
   */
  listRunning(before: Date, most: number): Promise<{ turnIds: string[]; next: Date | null }>;
  /**
   * Fails an activity of a dead worker, so that Temporal retries it; false if it is over. A task token names one attempt: a
   * later attempt is not affected, and Temporal retries at once. An id names the current attempt, whichever worker has it.
   * Temporal then retries after the usual backoff: a dead worker that still polls may have got several attempts.
   */
  failActivity(activity: Uint8Array | { workflowId: string; activityId: string }): Promise<boolean>;
}

interface TurnWorkflowOptions {
  taskQueue: string;
  /** Longer than the turn's own limit: when Temporal times a workflow out, no clean-up code runs. */
  executionTimeoutMs: (turn: StartableTurn) => number;
  maxSteps: number;
  turnTimeoutMs: number;
  /** Client and worker share a process and a connection: the response to the start contains the first task. */
  eager: boolean;
  /** True if the namespace has the search attributes. Checked at each start. */
  searchable: () => boolean;
}

/** With it the call of a dead worker fails, so that another one takes it. */
export const WORKER_DIED = { message: 'The worker died.', type: 'WorkerDied' };

/** The workflows of turns on one client. Each call has a deadline of 10 s; after that, the reconciler tries again. */
export function createTurnWorkflows(client: Client, options: TurnWorkflowOptions): TurnWorkflows {
  const withDeadline = createDeadline(client);
  return {
    namespace: client.options.namespace,

    async start(turn, { again = false, onlyNew = false } = {}) {
      const searchable = options.searchable();
      const details = `**Project** ${turn.projectId}\n\n**Session** ${turn.sessionId}\n\n**Model** ${turn.modelId}`;
      const input: TurnInput = {
        id: turn.id,
        sessionId: turn.sessionId,
        modelId: turn.modelId,
        details,
        mcpServers: turn.mcpServers,
        ...(turn.agents > 0 && { agents: turn.agents }),
        maxSteps: options.maxSteps,
        remainingMs: Math.max(0, Math.round(options.turnTimeoutMs - turn.runningMs)),
        searchable,
      };
      try {
        const start = (): ReturnType<typeof client.workflow.start> =>
          client.workflow.start(TURN_WORKFLOW, {
            workflowId: turn.id,
            args: [input],
            taskQueue: options.taskQueue,
            workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
            workflowIdConflictPolicy: onlyNew ? 'FAIL' : 'USE_EXISTING',
            workflowExecutionTimeout: options.executionTimeoutMs(turn),
            requestEagerStart: options.eager,
            // The fairness key shares a backlog between projects. Activities inherit it.
            priority: { fairnessKey: turn.projectId },
            staticSummary: `turn of ${turn.sessionId}`,
            staticDetails: details,
            ...(searchable && { typedSearchAttributes: searchAttributesOf(turn) }),
          });
        await withTrace(turn.trace, () => withDeadline(start));
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

    async signalAsking(turnId, call) {
      await unlessGone(
        withDeadline(() => client.workflow.getHandle(turnId).signal(ASKING_SIGNAL, call)),
        undefined,
      );
    },

    describe(turnId) {
      const described = withDeadline(() => client.workflow.getHandle(turnId).describe()).then((workflow) => ({
        state: stateOf(workflow),
        started: startedActivities(workflow),
      }));
      return unlessGone(described, { state: 'not found', started: [] });
    },

    terminate(turnId, reason) {
      const terminated = withDeadline(() => client.workflow.getHandle(turnId).terminate(reason)).then(() => true);
      return unlessGone(terminated, false);
    },

    async listFailed(since) {
      const query =
        `WorkflowType = '${TURN_WORKFLOW}' AND CloseTime > '${since.toISOString()}' ` +
        `AND ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated')`;
      return withDeadline(async () => {
        const ids: string[] = [];
        for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
        return ids;
      });
    },

    async listRunning(before, most) {
      // Without an order of its own, Temporal's list begins with the workflow that started last.
      const query = `WorkflowType = '${TURN_WORKFLOW}' AND ExecutionStatus = 'Running' AND StartTime < '${before.toISOString()}'`;
      return withDeadline(async () => {
        const turnIds: string[] = [];
        for await (const { workflowId, startTime } of client.workflow.list({ query, pageSize: most })) {
          turnIds.push(workflowId);
          // Times have parts of a millisecond here, which a Date has lost: the next page begins with this one again.
          if (turnIds.length === most) return { turnIds, next: new Date(startTime.getTime() + 1) };
        }
        return { turnIds, next: null };
      });
    },

    failActivity(activity) {
      const fail = async (): Promise<true> => {
        if (activity instanceof Uint8Array) {
          await client.activity.fail(activity, ApplicationFailure.create({ ...WORKER_DIED, nextRetryDelay: 1 }));
        } else {
          await client.activity.fail(activity, ApplicationFailure.create(WORKER_DIED));
        }
        return true;
      };
      return unlessGone(withDeadline(fail), false);
    },
  };
}

/** Returns `otherwise` if the workflow or its activity is not found or has ended. */
async function unlessGone<T, Otherwise>(work: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof ActivityNotFoundError) return otherwise;
    throw error;
  }
}
