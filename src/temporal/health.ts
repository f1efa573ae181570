import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { TaskQueueBacklog } from '../db/database-metrics.js';

const { TASK_QUEUE_TYPE_ACTIVITY: ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW: WORKFLOW } =
  proto.temporal.api.enums.v1.TaskQueueType;

const DEADLINE_MS = 2000;

export async function isReachable(client: Client, namespace: string): Promise<boolean> {
  await client.withDeadline(Date.now() + DEADLINE_MS, () => client.workflowService.describeNamespace({ namespace }));
  return true;
}

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
