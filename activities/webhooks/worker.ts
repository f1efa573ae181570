import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import type { Database } from '../../src/db/db.js';
import type { Config } from '../../src/platform/config.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createDeliveryWorkflows } from '../../src/temporal/delivery-workflows.js';
import {
  MAX_STARTED_PER_PROJECT,
  startDeliveryReconciler,
  type DeliveryReconciler,
} from '../../src/webhooks/start-deliveries.js';
import { webhookTaskQueue } from '../../workflows/contract.js';
import { FairQueue } from '../../src/platform/fair-queue.js';
import { createDeliveryActivities, type DeliveryDeps } from './send-delivery.js';

/** Parallel requests to receivers per worker; each is a socket. */
const MAX_ATTEMPTS = 400;
/**
 * Parallel requests per project, so that receivers that hang cannot use up all slots: its first attempts and its retries
 * that are under way.
 */
const MAX_ATTEMPTS_PER_PROJECT = 2 * MAX_STARTED_PER_PROJECT;
const WORKFLOW_TASKS = 10;
/** Few workflows are cached, because deliveries wait for hours between attempts. */
const CACHED_WORKFLOWS = 200;

interface Deliveries {
  /** Not running yet: the caller runs it with the worker of turns. */
  worker: Worker;
  reconciler: DeliveryReconciler;
}

/**
 * Creates the worker of deliveries with its own task queue, and starts the reconciler that starts their workflows.
 * `shared`: options it shares with the worker of turns.
 */
export async function startDeliveries(
  shared: Omit<WorkerOptions, 'taskQueue'> & { connection: NativeConnection },
  searchable: () => boolean,
  deps: Omit<DeliveryDeps, 'places'> & { config: Pick<Config, 'taskQueue'>; backgroundPool: Database },
): Promise<Deliveries> {
  const { taskQueue } = deps.config;
  const worker = await Worker.create({
    ...shared,
    taskQueue: webhookTaskQueue(taskQueue),
    activities: createDeliveryActivities({
      ...deps,
      places: new FairQueue({ perProject: MAX_ATTEMPTS_PER_PROJECT }),
    }),
    maxConcurrentActivityTaskExecutions: MAX_ATTEMPTS,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    maxCachedWorkflows: CACHED_WORKFLOWS,
  });
  const workflows = createDeliveryWorkflows(createTemporalClient(shared.connection), { taskQueue, searchable });
  return { worker, reconciler: startDeliveryReconciler({ db: deps.backgroundPool, log: deps.log, workflows }) };
}
