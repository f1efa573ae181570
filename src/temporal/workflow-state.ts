import type { WorkflowExecutionDescription } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';

/**
 * `waiting`: the workflow runs and waits for answers. `stuck`: it runs, but its workflow task fails on every worker.
 */
export type WorkflowState =
  | 'running'
  | 'waiting'
  | 'stuck'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'terminated'
  | 'timed out'
  | 'not found';

/** An activity that a worker has taken and not completed. */
export interface StartedActivity {
  activityId: string;
  workerId: string;
}

/** A workflow task may fail once during a deploy. After this many failures it fails on every worker. */
const MAX_WORKFLOW_TASK_ATTEMPTS = 8;
/** The values of PENDING_ACTIVITY_STATE_STARTED and PENDING_ACTIVITY_STATE_CANCEL_REQUESTED: a worker has the activity. */
const HELD = new Set([2, 3]);
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

export function stateOf({ status, raw, typedSearchAttributes }: WorkflowExecutionDescription): WorkflowState {
  const state = STATES[status.name] ?? 'running';
  if (state !== 'running') return state;
  if ((raw.pendingWorkflowTask?.attempt ?? 0) > MAX_WORKFLOW_TASK_ATTEMPTS) return 'stuck';
  return typedSearchAttributes.get(WAITS_FOR) === 'answer' ? 'waiting' : 'running';
}

export function startedActivities({ raw }: WorkflowExecutionDescription): StartedActivity[] {
  return (raw.pendingActivities ?? [])
    .filter(({ state }) => HELD.has(Number(state)))
    .map(({ activityId, lastWorkerIdentity }) => ({ activityId: activityId!, workerId: lastWorkerIdentity! }));
}
