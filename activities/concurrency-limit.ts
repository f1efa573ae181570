import { ApplicationFailure } from '@temporalio/common';

/** Slots of a worker that one project's work may take, and the work of all projects together. */
export interface Slots {
  perProject: number;
  total?: number;
}

/**
 * Limits what one project, and all projects together, take of a worker's slots. Work beyond the limit gives its slot back
 * before it begins, and Temporal tries it again later: tools or receivers that hang leave slots to others.
 */
export class ConcurrencyLimit {
  #running = new Map<string, number>();
  #total = 0;

  constructor(private readonly slots: Slots) {}

  /**
   * Does the work in one of the project's slots.
   * @throws ApplicationFailure `ConcurrencyLimitReached`, retryable: nothing was done
   */
  async within<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(projectId) ?? 0;
    if (running >= this.slots.perProject || this.#total >= (this.slots.total ?? Infinity)) {
      throw ApplicationFailure.retryable('The work has its share of this worker’s slots.', 'ConcurrencyLimitReached');
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
