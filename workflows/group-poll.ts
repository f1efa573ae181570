import { CancellationScope, sleep } from '@temporalio/workflow';
import type { PolledTasks } from '../activities/turn/turn-activities.js';

/** Calls whose tasks begin within this time share the first poll. */
const GATHER_TIME = '1 s';

interface Waiting {
  resolve: (polled: PolledTasks) => void;
  reject: (error: unknown) => void;
}

/** Polls the open tasks of one group in one activity. A call leaves when it has its result. */
export class GroupPoll {
  readonly #waiting = new Map<number, Waiting>();
  #scope: CancellationScope | null = null;
  #isRunning = false;
  #gathers = true;

  constructor(private readonly poll: (indices: number[]) => Promise<PolledTasks>) {}

  /** Waits until the call has its result. @throws as the activity fails */
  wait(index: number): Promise<PolledTasks> {
    const waiting = new Promise<PolledTasks>((resolve, reject) => this.#waiting.set(index, { resolve, reject }));
    this.#gathers = true;
    // An activity that is under way does not know the task: the next one does.
    this.#scope?.cancel();
    if (!this.#isRunning) void this.#run();
    return waiting;
  }

  /** Asks at once: answers to questions of the server may have come. */
  askAgain(): void {
    this.#scope?.cancel();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#waiting.size > 0) await this.#poll();
    } catch (error) {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    } finally {
      this.#isRunning = false;
    }
  }

  async #poll(): Promise<void> {
    if (this.#gathers) {
      this.#gathers = false;
      await sleep(GATHER_TIME);
    }
    const scope = new CancellationScope();
    this.#scope = scope;
    try {
      const polled = await scope.run(() => this.poll([...this.#waiting.keys()]));
      for (const index of polled.ended) {
        this.#waiting.get(index)?.resolve(polled);
        this.#waiting.delete(index);
      }
    } catch (error) {
      // Cancelled by `wait` or `askAgain`. How the attempt ended then says nothing.
      if (!scope.consideredCancelled || CancellationScope.current().consideredCancelled) throw error;
    } finally {
      this.#scope = null;
    }
  }
}
