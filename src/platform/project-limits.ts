import pLimit, { type LimitFunction } from 'p-limit';

/** Limits how much work a project runs at a time in this process. Further work waits. */
export class ProjectLimits {
  readonly #limits = new Map<string, LimitFunction>();

  constructor(private readonly concurrency: number) {}

  async run<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const limit = this.#limits.get(projectId) ?? pLimit(this.concurrency);
    this.#limits.set(projectId, limit);
    try {
      return await limit(work);
    } finally {
      if (limit.activeCount === 0 && limit.pendingCount === 0) this.#limits.delete(projectId);
    }
  }
}
