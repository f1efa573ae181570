/** What others may know of the workflow: names that cross a border are made once. */

export const TURN_WORKFLOW = 'turn';

/** A turn's workflow; its id is the turn's. The input has all that its first task needs to schedule an activity. */
export interface TurnInput extends Continuation {
  id: string;
  modelId: string;
  /** How many MCP servers the session names. */
  mcpServers: number;
  maxSteps: number;
  /** What is left of the turn's time. */
  remainingMs: number;
}

/**
 * The input of workflows that an earlier build started: the rest comes from the activity beginTurn. A worker of that
 * build finds no turn in a `TurnInput` and completes; the reconciler then starts the workflow again.
 */
export interface EarlierTurnInput extends Continuation {
  turnId: string;
}

/** Where a run goes on that continues another one. */
export interface Continuation {
  /** The namespace has the search attributes: the workflow may set them. */
  searchable?: boolean;
  step?: number;
  /** The run begins within the wait of `step`. */
  wait?: WaitingStep;
}

/** The calls of a step that waits for answers. */
export interface WaitingStep {
  tools: string[];
  waiting: number[];
}

/** How a turn ended, as operators see it in Temporal. */
export interface TurnSummary {
  /** Null when somebody else ended the turn, and its state is not known here. */
  state: string | null;
  stop_reason: string | null;
  steps: number;
}

/** Signal: answers of a turn were stored (contract.md §6). It carries nothing: the tables have the answers. */
export const ANSWERED_SIGNAL = 'answered';

/** Search attributes of turns: ids, and `WaitsFor = 'answer'` while a turn waits (docs/operations/turns.md). */
export const SEARCH_ATTRIBUTES = {
  project: 'ProjectId',
  session: 'SessionId',
  model: 'ModelId',
  waitsFor: 'WaitsFor',
} as const;

/** Sends one event to one webhook, with retries; the workflow's id is the delivery's. */
export const WEBHOOK_DELIVERY_WORKFLOW = 'webhookDelivery';

export interface DeliveryInput {
  deliveryId: string;
}

/** `check`: look at the delivery's row again. `retry`: send it now, whatever its row says. */
export const DELIVERY_SIGNALS = { check: 'check', retry: 'retry' } as const;

/** Deliveries have a task queue and a worker of their own: what they wait for never holds a turn's slot. */
export function webhookTaskQueue(taskQueue: string): string {
  return `${taskQueue}-webhooks`;
}

/** Runs one task of maintenance from end to end; started by a schedule for each task. */
export const MAINTENANCE_WORKFLOW = 'maintenance';

/** What keeps the tables and the storage small, in the order of docs/operations/maintenance.md. */
export const MAINTENANCE_TASKS = [
  'retention',
  'purge-sessions',
  'idempotency-records',
  'deltas',
  'storage',
  'webhook-deliveries',
] as const;
export type MaintenanceTask = (typeof MAINTENANCE_TASKS)[number];

export interface MaintenanceInput {
  task: MaintenanceTask;
}

/** ApplicationFailure type of a late writer: the turn has ended, and nobody needs to end it again. */
export const TURN_ENDED = 'TurnEnded';
