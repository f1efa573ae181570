interface Places {
  total?: number;
  perProject?: number;
}

interface Waiter {
  take: () => void;
}

/**
 * Places for work that projects share. Who waits for one stands in the line of its project, and the lines take turns. A place
 * that becomes free goes to the next in line at once, so nobody overtakes.
 */
export class FairQueue {
  #used = 0;
  readonly #usedBy = new Map<string, number>();
  readonly #lines = new Map<string, Set<Waiter>>();

  constructor(private readonly places: Places) {}

  get used(): number {
    return this.#used;
  }

  /** Takes a place if one is free. */
  tryTake(projectId: string): boolean {
    if (this.#used >= (this.places.total ?? Infinity) || !this.#mayHaveMore(projectId)) return false;
    this.#used += 1;
    this.#usedBy.set(projectId, (this.#usedBy.get(projectId) ?? 0) + 1);
    return true;
  }

  /** Takes a place, and waits until one is free. @throws the signal's reason */
  async take(projectId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake(projectId)) return;
    await new Promise<void>((resolve, reject) => {
      const line = this.#lines.get(projectId) ?? new Set();
      this.#lines.set(projectId, line);
      const leave = (): void => {
        this.#remove(projectId, waiter);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        take: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      line.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  free(projectId: string): void {
    this.#used -= 1;
    const left = this.#usedBy.get(projectId)! - 1;
    if (left === 0) this.#usedBy.delete(projectId);
    else this.#usedBy.set(projectId, left);
    this.#serveNext();
  }

  /** One place has become free: at most one of the lines can use it. */
  #serveNext(): void {
    for (const [projectId, line] of this.#lines) {
      if (!this.tryTake(projectId)) continue;
      const [waiter] = line;
      this.#remove(projectId, waiter!);
      // To the end: the lines of other projects come first.
      if (line.size > 0) {
        this.#lines.delete(projectId);
        this.#lines.set(projectId, line);
      }
      waiter!.take();
      return;
    }
  }

  #mayHaveMore(projectId: string): boolean {
    return (this.#usedBy.get(projectId) ?? 0) < (this.places.perProject ?? Infinity);
  }

  #remove(projectId: string, waiter: Waiter): void {
    const line = this.#lines.get(projectId);
    line?.delete(waiter);
    if (line?.size === 0) this.#lines.delete(projectId);
  }
}
