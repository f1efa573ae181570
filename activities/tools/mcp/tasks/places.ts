import { FairQueue } from '../../../../src/platform/fair-queue.js';
import type { ToolDeps } from '../../tool.js';
import type { AskDeps } from '../ask-person.js';
import type { ShowAskingDeps } from '../call-wait.js';

export type TaskDeps = ToolDeps & Pick<AskDeps, 'answers' | 'notifier'> & Pick<ShowAskingDeps, 'workflows'>;

/** Places of a worker for the work of projects. */
export type Places = Pick<FairQueue, 'tryWithin'>;

/** Where the tasks of servers are asked for, and where their results are read. */
export interface TaskPlaces {
  polls: Places;
  /** A result may take as long as a call, so it is read in a slot for tools. */
  results: Places;
}

/**
 * Places for polls of tasks, apart from those of tools. A project with none gets any that is free, a further one only while fewer than
 * half are taken: servers that do not answer leave places for the polls of other projects.
 */
export function openPollPlaces(total: number): FairQueue {
  const places: FairQueue = new FairQueue({
    total,
    takeMore: (projectId) => places.usedBy(projectId) === 0 || places.used < total / 2,
  });
  return places;
}
