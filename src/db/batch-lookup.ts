import { asProcess } from './project-pool.js';

/** Connections that the lookups of one kind use at once. A pool has at least twice as many. */
const MAX_QUERIES = 2;
const MAX_BATCH = 1000;

interface Waiting<T> {
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Looks up values that anybody can present without a key. However many arrive, they use at most two connections:
 * those that arrive while both are busy share the next query.
 */
export class BatchLookup<T> {
  readonly #waiting = new Map<string, Waiting<T>[]>();
  #queries = 0;

  /** `find` runs one query. It returns what it found by the presented value. */
  constructor(private readonly find: (presented: string[]) => Promise<ReadonlyMap<string, T>>) {}

  /** Returns null if there is nothing of this value. @throws the error of the query */
  lookUp(presented: string): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const same = this.#waiting.get(presented);
      if (same === undefined) this.#waiting.set(presented, [{ resolve, reject }]);
      else same.push({ resolve, reject });
      if (this.#queries < MAX_QUERIES) void asProcess(() => this.#query());
    });
  }

  async #query(): Promise<void> {
    this.#queries += 1;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, MAX_BATCH);
      for (const [presented] of batch) this.#waiting.delete(presented);
      try {
        const found = await this.find(batch.map(([presented]) => presented));
        for (const [presented, waiting] of batch) {
          for (const { resolve } of waiting) resolve(found.get(presented) ?? null);
        }
      } catch (error) {
        for (const [, waiting] of batch) for (const { reject } of waiting) reject(error);
      }
    }
    this.#queries -= 1;
  }
}
