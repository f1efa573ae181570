import { Worker, type WorkerOptions } from '@temporalio/worker';
import { webhookTaskQueue } from '../../workflows/contract.js';
import { ConcurrencyLimit } from '../concurrency-limit.js';
import { createDeliveryActivities, type DeliveryDeps } from './send-delivery.js';

/** Requests to receivers under way in one worker; each is a socket. */
const MAX_ATTEMPTS = 200;
/** Of these, for one project: receivers that hang leave slots to other projects. */
const MAX_ATTEMPTS_PER_PROJECT = 50;
const WORKFLOW_TASKS = 10;
/** Deliveries wait for hours between attempts: their workflows need not stay in memory. */
const CACHED_WORKFLOWS = 200;

/** The worker of deliveries, on their own task queue. `shared`: what it has in common with the worker of turns. */
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
