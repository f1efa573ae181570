/**
 * The slots of a worker for polls of tasks, apart from those of tools. A project with none gets any that is free, a further one
 * only while fewer than half are taken: servers that do not answer leave slots for the polls of other projects.
 */
export class PollSlots {
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(private readonly slots: number) {}

  /** Runs the work in a slot; returns null if there is none for the project. */
  async within<T>(projectId: string, work: () => Promise<T>): Promise<T | null> {
    const taken = this.#taken.get(projectId) ?? 0;
    if (this.#total >= (taken === 0 ? this.slots : this.slots / 2)) return null;
    this.#taken.set(projectId, taken + 1);
    this.#total += 1;
    try {
      return await work();
    } finally {
      this.#total -= 1;
      const left = this.#taken.get(projectId)! - 1;
      if (left === 0) this.#taken.delete(projectId);
      else this.#taken.set(projectId, left);
    }
  }
}
