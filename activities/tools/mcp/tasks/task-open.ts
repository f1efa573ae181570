import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { projectPause } from '../../../../src/tasks/pauses.js';

const MIN_BUSY_PAUSE_MS = 1000;

/** The failure of an attempt that has found tasks open: Temporal tries again after the pause. Operators see it there. */
export function taskOpen(pauseMs: number, message: string): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: 'TaskOpen',
    nextRetryDelay: Math.max(1, Math.ceil(pauseMs)),
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** The failure of an attempt that found no slot. */
export function noPlace(openTasks: number): ApplicationFailure {
  return taskOpen(busyPause(openTasks), 'The slots of this worker for the project are in use.');
}

/** Grows with the open tasks of the project, which all want a slot. */
export function busyPause(openTasks: number): number {
  return Math.max(MIN_BUSY_PAUSE_MS, projectPause(openTasks)) * (0.5 + Math.random());
}
