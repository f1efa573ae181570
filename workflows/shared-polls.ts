import { CancellationScope, sleep } from '@temporalio/workflow';

/** Calls whose tasks begin within this time share the first poll. */
const GATHER_TIME = '1 s';

interface Waiting {
  resolve: (isDue: boolean) => void;
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
  #isStopped = false;

  /** @param poll returns the tasks that need an activity of their own; none if it knows of no open task */
  constructor(private readonly poll: (indices: number[]) => Promise<number[]>) {}

  /** Returns true when the task needs an activity of its own, false after `stop`. @throws as the activity fails */
  wait(index: number): Promise<boolean> {
    const waiting = new Promise<boolean>((resolve, reject) => this.#waiting.set(index, { resolve, reject }));
    // An activity that is under way does not know the task: the next one does.
    this.#scope?.cancel();
    if (!this.#isRunning) void this.#run();
    return waiting;
  }

  stop(): void {
    this.#isStopped = true;
    this.#scope?.cancel();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      await sleep(GATHER_TIME);
      while (this.#waiting.size > 0 && !this.#isStopped) await this.#poll();
      this.#leave([...this.#waiting.keys()], false);
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
      const due = await scope.run(() => this.poll(indices));
      this.#leave(due.length > 0 ? due : indices, true);
    } catch (error) {
      // Cancelled by `wait` or `stop`. How the attempt ended then says nothing.
      if (!scope.consideredCancelled || CancellationScope.current().consideredCancelled) throw error;
      if (!this.#isStopped) await sleep(GATHER_TIME);
    } finally {
      this.#scope = null;
    }
  }

  #leave(indices: number[], isDue: boolean): void {
    for (const index of indices) {
      this.#waiting.get(index)?.resolve(isDue);
      this.#waiting.delete(index);
    }
  }
}
