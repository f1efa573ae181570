import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { TaskQueueBacklog } from '../platform/database-metrics.js';

const { TASK_QUEUE_TYPE_ACTIVITY: ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW: WORKFLOW } =
  proto.temporal.api.enums.v1.TaskQueueType;

const DEADLINE_MS = 2000;
/** A worker polls at least once a minute; Temporal remembers a poller for five minutes. */
const POLLED_WITHIN_MS = 70_000;

export interface TemporalHealth {
  temporal: 'ok' | 'away';
  worker: 'ok' | 'away';
}

/** Checks whether Temporal answers, and whether a worker polls the task queue. */
export async function temporalHealth(client: Client, namespace: string, taskQueue: string): Promise<TemporalHealth> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: ACTIVITY,
      }),
    );
    const since = Date.now() - POLLED_WITHIN_MS;
    const polled = pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 > since);
    return { temporal: 'ok', worker: polled ? 'ok' : 'away' };
  } catch {
    return { temporal: 'away', worker: 'away' };
  }
}

/** Reads the backlog of the task queue of turns. */
export async function readBacklogs(client: Client, namespace: string, taskQueue: string): Promise<TaskQueueBacklog[]> {
  const types = { workflow: WORKFLOW, activity: ACTIVITY };
  return Promise.all(
    Object.entries(types).map(async ([type, taskQueueType]) => {
      const { stats } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
        client.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: taskQueue },
          taskQueueType,
          reportStats: true,
        }),
      );
      return {
        type: type as TaskQueueBacklog['type'],
        tasks: Number(stats?.approximateBacklogCount ?? 0),
        ageSeconds: Number(stats?.approximateBacklogAge?.seconds ?? 0),
      };
    }),
  );
}
