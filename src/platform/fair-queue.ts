interface Limits {
  total?: number;
  perProject?: number;
  /**
   * Takes what else the work of a project needs, if there is room by the other limits. Returns false if there is not enough: the
   * project waits, and others do not wait for it. Call `serve` when there may be more.
   */
  takeMore?: (projectId: string) => boolean;
}

interface Waiter {
  amount: number;
  enter: () => void;
}

/**
 * Room for work that projects share: a number of places, or bytes of memory. Who waits for room stands in the line of its project, and
 * the lines take turns. A project that waits for itself does not make others wait. Nobody overtakes the one whose turn it is, so
 * that small work cannot starve large work.
 */
export class FairQueue {
  #used = 0;
  readonly #usedBy = new Map<string, number>();
  /** In the order of their turns. */
  readonly #lines = new Map<string, Set<Waiter>>();

  constructor(private readonly limits: Limits) {}

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.size, 0);
  }

  usedBy(projectId: string): number {
    return this.#usedBy.get(projectId) ?? 0;
  }

  /** Takes room if it is free. */
  tryTake(projectId: string, amount = 1): boolean {
    if (!this.#isOwnRoom(projectId, amount) || !this.#isRoom(amount)) return false;
    if (this.limits.takeMore?.(projectId) === false) return false;
    this.#used += amount;
    this.#usedBy.set(projectId, this.usedBy(projectId) + amount);
    return true;
  }

  /** Takes room, and waits until it is free. @throws the signal's reason */
  async take(projectId: string, signal: AbortSignal | null = null, amount = 1): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#remove(projectId, waiter);
        reject(signal!.reason as Error);
        this.serve();
      };
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { amount, enter };
      const line = this.#lines.get(projectId) ?? new Set();
      this.#lines.set(projectId, line.add(waiter));
      signal?.addEventListener('abort', leave, { once: true });
      this.serve();
    });
  }

  free(projectId: string, amount = 1): void {
    this.#used -= amount;
    const left = this.usedBy(projectId) - amount;
    if (left === 0) this.#usedBy.delete(projectId);
    else this.#usedBy.set(projectId, left);
    this.serve();
  }

  /** Runs the work in a place of its project. @throws the signal's reason */
  async within<T>(projectId: string, work: () => Promise<T>, signal: AbortSignal | null = null): Promise<T> {
    await this.take(projectId, signal);
    return this.#run(projectId, work);
  }

  /** Runs the work in a place of its project if one is free; null if none is. */
  tryWithin<T>(projectId: string, work: () => Promise<T>): Promise<T> | null {
    return this.tryTake(projectId) ? this.#run(projectId, work) : null;
  }

  /** Gives room to those that wait, as long as there is some. */
  serve(): void {
    while (this.#serveOne());
  }

  async #run<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.free(projectId);
    }
  }

  #serveOne(): boolean {
    for (const [projectId, line] of this.#lines) {
      const [next] = line as Set<Waiter> & [Waiter];
      if (!this.#isOwnRoom(projectId, next.amount)) continue;
      if (!this.#isRoom(next.amount)) return false;
      if (!this.tryTake(projectId, next.amount)) continue;
      this.#remove(projectId, next);
      // To the end: the lines of other projects come first.
      if (line.size > 0) {
        this.#lines.delete(projectId);
        this.#lines.set(projectId, line);
      }
      next.enter();
      return true;
    }
    return false;
  }

  #isOwnRoom(projectId: string, amount: number): boolean {
    return this.usedBy(projectId) + amount <= (this.limits.perProject ?? Infinity);
  }

  #isRoom(amount: number): boolean {
    return this.#used + amount <= (this.limits.total ?? Infinity);
  }

  #remove(projectId: string, waiter: Waiter): void {
    const line = this.#lines.get(projectId);
    line?.delete(waiter);
    if (line?.size === 0) this.#lines.delete(projectId);
  }
}
