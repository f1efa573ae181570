import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { projectPause } from '../../src/steps/task-pauses.js';

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

/** The failure of an attempt that found no slot. The pause grows with the open tasks of the project, which all want one. */
export function noSlot(openTasks: number): ApplicationFailure {
  const pauseMs = Math.max(MIN_BUSY_PAUSE_MS, projectPause(openTasks)) * (0.5 + Math.random());
  return taskOpen(pauseMs, 'The slots of this worker for the project are in use.');
}
