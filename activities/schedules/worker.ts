import { Worker, type WorkerOptions } from '@temporalio/worker';
import { scheduleTaskQueue } from '../../workflows/contract.js';
import type { ScheduleActivities } from './schedule-activities.js';

/** Turns of schedules that a worker starts at once: their times often are the same. */
const MAX_FIRINGS = 4;

/** Creates the worker that fires schedules. Their workflows run on the worker of turns. `shared`: the options of both. */
export function createScheduleWorker(
  shared: Omit<WorkerOptions, 'taskQueue'>,
  taskQueue: string,
  activities: ScheduleActivities,
): Promise<Worker> {
  return Worker.create({
    ...shared,
    workflowBundle: undefined,
    taskQueue: scheduleTaskQueue(taskQueue),
    activities,
    maxConcurrentActivityTaskExecutions: MAX_FIRINGS,
  });
}
