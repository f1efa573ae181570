import { CancellationScope, sleep } from '@temporalio/workflow';
import type { PolledTasks } from '../activities/turn/turn-activities.js';

/** Calls whose tasks begin within this time share the first poll. */
const GATHER_TIME = '1 s';

/** Why a task needs an activity of its own. */
type Reason = keyof PolledTasks;

interface Waiting {
  resolve: (reason: Reason) => void;
  reject: (error: unknown) => void;
}

/**
 * Polls the open tasks of one MCP server in one activity. A task leaves when it needs an activity of its own: it has ended, or
 * its server asks a question.
 */
export class SharedPolls {
  readonly #waiting = new Map<number, Waiting>();
  #scope: CancellationScope | null = null;
  #isRunning = false;

  constructor(private readonly poll: (indices: number[]) => Promise<PolledTasks>) {}

  /** Waits until the task needs an activity of its own. @throws as the activity fails */
  wait(index: number): Promise<Reason> {
    const waiting = new Promise<Reason>((resolve, reject) => this.#waiting.set(index, { resolve, reject }));
    // An activity that is under way does not know the task: the next one does.
    this.#scope?.cancel();
    if (!this.#isRunning) void this.#run();
    return waiting;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      await sleep(GATHER_TIME);
      while (this.#waiting.size > 0) await this.#poll();
    } catch (error) {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    } finally {
      this.#isRunning = false;
    }
  }

  async #poll(): Promise<void> {
    const indices = [...this.#waiting.keys()];
    const scope = new CancellationScope();
    this.#scope = scope;
    try {
      const { ended, asking } = await scope.run(() => this.poll(indices));
      this.#leave(ended, 'ended');
      this.#leave(asking, 'asking');
    } catch (error) {
      // Cancelled by `wait`. How the attempt ended then says nothing.
      if (!scope.consideredCancelled || CancellationScope.current().consideredCancelled) throw error;
      await sleep(GATHER_TIME);
    } finally {
      this.#scope = null;
    }
  }

  #leave(indices: number[], reason: Reason): void {
    for (const index of indices) {
      this.#waiting.get(index)?.resolve(reason);
      this.#waiting.delete(index);
    }
  }
}
