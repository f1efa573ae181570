import type { ToolDeps } from '../../tool.js';
import type { AskDeps } from '../ask-person.js';
import type { ShowAskingDeps } from '../call-wait.js';

export type TaskDeps = ToolDeps & Pick<AskDeps, 'answers' | 'notifier'> & Pick<ShowAskingDeps, 'workflows'>;

/** Slots of a worker for the work of projects. */
export interface Places {
  /** Runs the work in a slot; returns null if there is none for the project now. */
  within<T>(projectId: string, work: () => Promise<T>): Promise<T | null>;
}

/** Where the tasks of servers are asked for, and where their results are read. */
export interface TaskPlaces {
  polls: Places;
  /** A result may take as long as a call, so it is read in a slot for tools. */
  results: Places;
}
