/** The workflows' interface: names and types that the API, the activities and the workflows share. */

export const TURN_WORKFLOW = 'turn';

/** The workflow of a turn; its id is the turn's id. The input is enough to schedule the first activity at once. */
export interface TurnInput {
  id: string;
  sessionId: string;
  modelId: string;
  /** The static details of the first run, as Markdown. */
  details: string;
  /** How many MCP servers the session names. */
  mcpServers: number;
  /** How many agents the turn may call; absent without any. */
  agents?: number;
  maxSteps: number;
  remainingMs: number;
  /** The namespace has the search attributes: the workflow may set them. */
  searchable: boolean;
  /** Of a run that continues another one (continue-as-new): the step that it begins with. */
  step?: number;
}

/** Signal: answers of a turn were stored (decisions.md "Person in the loop"). It has no payload: the answers are in the tables. */
export const ANSWERED_SIGNAL = 'answered';

/** Signal: a call begins or ceases to wait for answers to its server's questions. It changes `WaitsFor` and the details alone. */
export const ASKING_SIGNAL = 'asking';

export interface AskingCall {
  step: number;
  index: number;
  asks: boolean;
}

/** Search attributes of turns: ids, and `WaitsFor`, `answer`, `task` or `child`, while a turn waits (docs/operations/turns.md). */
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

/** `check`: read the delivery's row again. `retry`: send now, regardless of the row's state. */
export const DELIVERY_SIGNALS = { check: 'check', retry: 'retry' } as const;

/** Deliveries have their own task queue and worker, so that slow receivers never occupy a turn's slot. */
export function webhookTaskQueue(taskQueue: string): string {
  return `${taskQueue}-webhooks`;
}

/** The activities that fire schedules have their own task queue, so that a burst of them never occupies a turn's slots. */
export function scheduleTaskQueue(taskQueue: string): string {
  return `${taskQueue}-schedules`;
}

/** Starts the turn of a schedule's due time. A schedule in Temporal starts it for each of its times. */
export const FIRE_SCHEDULE_WORKFLOW = 'fireSchedule';

export interface FireScheduleInput {
  scheduleId: string;
}

/** Erases a person; the workflow's id is the erasure's. */
export const ERASURE_WORKFLOW = 'erasure';

export interface ErasureInput {
  erasureId: string;
}

/** Runs one maintenance task to its end. A Temporal schedule per task starts it. */
export const MAINTENANCE_WORKFLOW = 'maintenance';

/** Maintenance tasks that keep the tables and the storage small, in the order of docs/operations/maintenance.md. */
export const MAINTENANCE_TASKS = [
  'retention',
  'purge-sessions',
  'idempotency-records',
  'storage',
  'webhook-deliveries',
  'schedule-runs',
  'memory-versions',
  'erasures',
  'usage',
  'audit-log',
] as const;
export type MaintenanceTask = (typeof MAINTENANCE_TASKS)[number];

export interface MaintenanceInput {
  task: MaintenanceTask;
}

/** ApplicationFailure type for an activity that was fenced out: the turn has already ended, so `finish` is not needed. */
export const TURN_ENDED = 'TurnEnded';
