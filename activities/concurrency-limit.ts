import { ApplicationFailure } from '@temporalio/common';
import { FairQueue } from '../src/platform/fair-queue.js';

const LIMIT_REACHED = 'ConcurrencyLimitReached';

/**
 * Limits how many of a worker's slots one project, and all projects together, may use. Work beyond the limit returns its
 * slot before it begins, and Temporal retries it later. So tools or receivers that hang cannot use up all slots.
 */
export class ConcurrencyLimit {
  /** For work that has begun, gave its slot back and takes one again. */
  readonly queue: FairQueue;

  constructor(slots: { perProject: number; total?: number }) {
    this.queue = new FairQueue(slots);
  }

  /**
   * Takes one of the project’s slots, which the caller frees.
   * @throws ApplicationFailure `ConcurrencyLimitReached`, retryable: the work did not start
   */
  begin(projectId: string): void {
    if (this.queue.tryTake(projectId)) return;
    throw ApplicationFailure.retryable('The concurrency limit of this worker is reached.', LIMIT_REACHED);
  }

  /** Runs the work in one of the project’s slots. @throws as `begin` */
  async within<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    this.begin(projectId);
    try {
      return await work();
    } finally {
      this.queue.free(projectId);
    }
  }
}

export function isLimitReached(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === LIMIT_REACHED;
}
