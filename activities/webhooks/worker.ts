import { Worker, type WorkerOptions } from '@temporalio/worker';
import { webhookTaskQueue } from '../../workflows/contract.js';
import { ConcurrencyLimit } from '../concurrency-limit.js';
import { createDeliveryActivities, type DeliveryDeps } from './send-delivery.js';

/** Parallel requests to receivers per worker; each is a socket. */
const MAX_ATTEMPTS = 200;
/** Parallel requests per project, so that receivers that hang cannot use up all slots. */
const MAX_ATTEMPTS_PER_PROJECT = 50;
const WORKFLOW_TASKS = 10;
/** Few workflows are cached, because deliveries wait for hours between attempts. */
const CACHED_WORKFLOWS = 200;

/** Creates the worker of deliveries with its own task queue. `shared`: options it shares with the worker of turns. */
export function createWebhookWorker(
  taskQueue: string,
  shared: Omit<WorkerOptions, 'taskQueue'>,
  deps: Omit<DeliveryDeps, 'limit'>,
): Promise<Worker> {
  return Worker.create({
    ...shared,
    taskQueue: webhookTaskQueue(taskQueue),
    activities: createDeliveryActivities({
      ...deps,
      limit: new ConcurrencyLimit({ perProject: MAX_ATTEMPTS_PER_PROJECT }),
    }),
    maxConcurrentActivityTaskExecutions: MAX_ATTEMPTS,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    maxCachedWorkflows: CACHED_WORKFLOWS,
  });
}
