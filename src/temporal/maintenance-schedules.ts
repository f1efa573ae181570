import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
  type IntervalSpec,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAINTENANCE_TASKS, MAINTENANCE_WORKFLOW, type MaintenanceTask } from '../../workflows/contract.js';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';

/** The interval of each task, and its offset after the full hour, so that tasks do not run at the same time. */
const SPEC: Readonly<Record<MaintenanceTask, IntervalSpec>> = {
  retention: { every: '1h', offset: '5m' },
  'purge-sessions': { every: '1h', offset: '15m' },
  'idempotency-records': { every: '1h', offset: '25m' },
  'webhook-deliveries': { every: '1h', offset: '45m' },
  'audit-log': { every: '1h', offset: '55m' },
  'schedule-runs': { every: '1h', offset: '50m' },
  'memory-versions': { every: '1h', offset: '55m' },
  erasures: { every: '1d', offset: '2h' },
  storage: { every: '1d', offset: '3h' },
  usage: { every: '5m', offset: '2m' },
};
const MAX_RUN = '12h';

/** The schedule's name in the Temporal UI. Several task queues can share a namespace. */
export function maintenanceScheduleId(taskQueue: string, task: MaintenanceTask): string {
  return `${taskQueue}-maintenance-${task}`;
}

/**
 * Creates or updates the maintenance schedules. A paused schedule stays paused. Retention has a schedule only if
 * RETENTION_DAYS is set. It never fails: if schedules are not allowed, it logs a warning.
 */
export async function ensureMaintenanceSchedules(
  client: Client,
  config: Pick<Config, 'taskQueue' | 'retentionDays'>,
  log: Logger,
): Promise<void> {
  try {
    const wanted = MAINTENANCE_TASKS.filter((task) => task !== 'retention' || config.retentionDays !== null);
    await Promise.all(wanted.map((task) => ensure(client, config.taskQueue, task)));
    if (config.retentionDays === null) await remove(client, maintenanceScheduleId(config.taskQueue, 'retention'));
    log.info({ schedules: wanted.length }, 'maintenance is scheduled');
  } catch (err) {
    log.warn({ err }, 'maintenance cannot be scheduled: deleted sessions and old records stay');
  }
}

async function ensure(client: Client, taskQueue: string, task: MaintenanceTask): Promise<void> {
  const scheduleId = maintenanceScheduleId(taskQueue, task);
  const schedule = {
    spec: { intervals: [SPEC[task]] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP },
    action: {
      type: 'startWorkflow' as const,
      workflowType: MAINTENANCE_WORKFLOW,
      workflowId: scheduleId,
      taskQueue,
      args: [{ task }],
      workflowExecutionTimeout: MAX_RUN,
      staticSummary: `maintenance: ${task}`,
    },
  } satisfies Omit<ScheduleOptions, 'scheduleId'>;
  try {
    await client.schedule.create({ scheduleId, ...schedule });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(scheduleId).update(({ state }) => ({ ...schedule, state }));
  }
}

async function remove(client: Client, scheduleId: string): Promise<void> {
  await client.schedule
    .getHandle(scheduleId)
    .delete()
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
}
