import { FairQueue } from '../src/platform/fair-queue.js';

/** Whose slot it is does not count, only who waits. */
const ANY_PROJECT = '';

/**
 * The slots of a process (`WORKER_MAX_ACTIVITIES`). Temporal hands out no more activities than there are slots, but calls
 * that go on after a person's answer take slots too.
 */
export class Slots {
  readonly queue: FairQueue;

  constructor(private readonly total: number) {
    this.queue = new FairQueue({ total });
  }

  /**
   * Runs the work of an activity in a slot; waits for one in the line of its project while others have them.
   * @throws the signal's reason
   */
  async within<T>(projectOf: () => Promise<string>, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const projectId = this.queue.used < this.total ? ANY_PROJECT : await projectOf();
    return this.queue.within(projectId, work, signal);
  }
}
