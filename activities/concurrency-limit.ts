import { ApplicationFailure } from '@temporalio/common';

interface Slots {
  perProject: number;
  total?: number;
}

/**
 * Limits how many of a worker's slots one project, and all projects together, may use. Work beyond the limit returns its
 * slot before it begins, and Temporal retries it later. So tools or receivers that hang cannot use up all slots.
 */
export class ConcurrencyLimit {
  #running = new Map<string, number>();
  #total = 0;

  constructor(private readonly slots: Slots) {}

  /**
   * Runs the work in one of the project's slots.
   * @throws ApplicationFailure `ConcurrencyLimitReached`, retryable: the work did not start
   */
  async within<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(projectId) ?? 0;
    if (running >= this.slots.perProject || this.#total >= (this.slots.total ?? Infinity)) {
      throw ApplicationFailure.retryable('The concurrency limit of this worker is reached.', 'ConcurrencyLimitReached');
    }
    this.#running.set(projectId, running + 1);
    this.#total += 1;
    try {
      return await work();
    } finally {
      this.#total -= 1;
      const left = this.#running.get(projectId)! - 1;
      if (left === 0) this.#running.delete(projectId);
      else this.#running.set(projectId, left);
    }
  }
}
