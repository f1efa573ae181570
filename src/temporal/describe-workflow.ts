import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { temporalSettings } from './connection.js';
import { withClient } from './with-client.js';

interface PendingActivity {
  id: string;
  type: string;
  state: string;
  attempt: number;
  /** The worker that has it, or had it last. */
  worker: string;
  /** The type of the failure of the attempt before. */
  lastFailure: string | null;
}

/** A workflow as operators need it, or why there is nothing to show. */
export type DescribedWorkflow =
  | {
      id: string;
      run_id: string;
      namespace: string;
      task_queue: string;
      status: string;
      started_at: string;
      closed_at: string | null;
      history_events: number;
      /** Attempt of the workflow task that is due; null if none is. */
      task_attempt: number | null;
      /** Why the workflow task failed, where one did; null if none did. */
      task_failure: string | null;
      activities: PendingActivity[];
    }
  | { error: string };

/** Signals and answers may come after the task that failed. */
const LAST_EVENTS = 50;
const ACTIVITY_STATES = ['unknown', 'scheduled', 'started', 'cancel requested', 'paused', 'pause requested'];

export async function describeWorkflow(id: string): Promise<DescribedWorkflow> {
  const { namespace } = temporalSettings();
  try {
    const { described, task_failure } = await withClient(async (client) => {
      const described = await client.workflow.getHandle(id).describe();
      const hasFailed = (described.raw.pendingWorkflowTask?.attempt ?? 0) > 1;
      return { described, task_failure: hasFailed ? await taskFailure(client, id) : null };
    });
    const { status, runId, taskQueue, startTime, closeTime, historyLength, raw } = described;
    return {
      id,
      run_id: runId,
      namespace,
      task_queue: taskQueue,
      status: status.name,
      started_at: startTime.toISOString(),
      closed_at: closeTime?.toISOString() ?? null,
      history_events: historyLength,
      task_attempt: raw.pendingWorkflowTask?.attempt ?? null,
      task_failure,
      activities: (raw.pendingActivities ?? []).map((activity) => ({
        id: activity.activityId ?? '',
        type: activity.activityType?.name ?? '',
        state: ACTIVITY_STATES[Number(activity.state)] ?? 'unknown',
        attempt: activity.attempt ?? 0,
        worker: activity.lastWorkerIdentity ?? '',
        lastFailure: activity.lastFailure?.applicationFailureInfo?.type ?? (activity.lastFailure ? 'other' : null),
      })),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      return {
        error: `The namespace ${namespace} has no workflow ${id}: never started, or closed longer ago than it keeps them.`,
      };
    }
    return {
      error: `Temporal does not answer (${(error as Error).message}). Check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.`,
    };
  }
}

/** The failure of the newest workflow task that failed. Temporal writes the first one of a row into the history, at its end. */
export async function taskFailure(client: Client, workflowId: string): Promise<string | null> {
  const { namespace } = temporalSettings();
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId },
    maximumPageSize: LAST_EVENTS,
  });
  const failed = history?.events?.find((event) => event.workflowTaskFailedEventAttributes);
  return failed?.workflowTaskFailedEventAttributes?.failure?.message ?? null;
}
