import { ApplicationFailure } from '@temporalio/common';

/**
 * Limits what one project takes of a worker's slots. Work beyond the limit gives its slot back before it begins, and
 * Temporal tries it again later: tools or receivers that hang leave slots to other projects.
 */
export class ConcurrencyLimit {
  #underWay = new Map<string, number>();

  constructor(private readonly most: number) {}

  /**
   * Does the work within the project's share.
   * @throws ApplicationFailure `ConcurrencyLimitReached`, retryable: nothing was done
   */
  async within<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const underWay = this.#underWay.get(projectId) ?? 0;
    if (underWay >= this.most) {
      throw ApplicationFailure.retryable('The project has its share of this worker.', 'ConcurrencyLimitReached');
    }
    this.#underWay.set(projectId, underWay + 1);
    try {
      return await work();
    } finally {
      const left = this.#underWay.get(projectId)! - 1;
      if (left === 0) this.#underWay.delete(projectId);
      else this.#underWay.set(projectId, left);
    }
  }
}
