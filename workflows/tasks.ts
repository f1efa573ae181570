import { ActivityCancellationType, CancellationScope, proxyActivities, sleep } from '@temporalio/workflow';
import type { EndedTask, TurnActivities } from '../activities/turn/turn-activities.js';
import type { WaitsFor } from './waits-for.js';

/** An attempt asks once: its time limit is that of fetching a large result. A task's own limit is in the activity. */
const POLL_TIMEOUT = '1 hour';
/** A poll whose worker dies is repeated after this time at the latest: no call records it for the reconciler to take over. */
const HEARTBEAT_TIMEOUT = '90 s';
/** contract.md §11: how long `tasks/cancel` is tried. */
const CANCEL_TIMEOUT = '30 s';

const { cancelTasks } = proxyActivities<TurnActivities>({
  scheduleToCloseTimeout: CANCEL_TIMEOUT,
  retry: { initialInterval: '1 s', backoffCoefficient: 1.5, maximumInterval: '5 s' },
  summary: 'cancel the tasks of the turn',
});

export class TaskWaits {
  /** True once the waits have stopped because they should go on in a new run. */
  isLong = false;
  readonly #open = new Set<number>();
  readonly #scopes = new Set<CancellationScope>();
  #cancels: Promise<void>[] = [];
  #hasClock = false;

  constructor(
    private readonly turnId: string,
    private readonly waitsFor: WaitsFor,
    /** False in a run that began in the middle of a wait: it stays until the wait is over. */
    private readonly mayContinue: boolean,
    /** True while the workflow has other activities, which a new run would lose. */
    private readonly isBusy: () => boolean,
  ) {}

  async wait(step: number, index: number, tool: string, longWaitMs: number): Promise<EndedTask | null> {
    const { turnId } = this;
    const { pollTask } = proxyActivities<TurnActivities>({
      startToCloseTimeout: POLL_TIMEOUT,
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: { initialInterval: '1 s', backoffCoefficient: 1 },
      summary: `task of ${tool}`,
    });
    this.#open.add(index);
    this.waitsFor.task(true);
    this.#startClock(longWaitMs);
    for (;;) {
      const scope = new CancellationScope();
      this.#scopes.add(scope);
      try {
        const ended = await scope.run(() => pollTask({ turnId, step, index }));
        this.#open.delete(index);
        this.waitsFor.task(this.#open.size > 0);
        if (ended.isOverdue) this.#cancels.push(this.#cancelOnServers());
        return ended;
      } catch (error) {
        // Stopped by `askAgain`. How the attempt ended then says nothing: its worker may have died, or found the task open.
        if (!scope.consideredCancelled || CancellationScope.current().consideredCancelled) throw error;
        if (this.isLong) return null;
      } finally {
        this.#scopes.delete(scope);
      }
    }
  }

  /** Answers to questions of servers may have come: asks for the tasks at once, which passes the answers on. */
  askAgain(): void {
    for (const scope of this.#scopes) scope.cancel();
  }

  isOpen(index: number): boolean {
    return this.#open.has(index);
  }

  /** The calls whose tasks have not ended. */
  get open(): number[] {
    return [...this.#open];
  }

  /** Before the workflow ends: has the servers cancel the tasks that are left, and waits for all such requests. */
  async close(): Promise<void> {
    if (this.#open.size > 0) this.#cancels.push(this.#cancelOnServers());
    await Promise.all(this.#cancels);
  }

  /** Tried for a while. A server that is away keeps its task until its time to live is over. */
  #cancelOnServers(): Promise<void> {
    return CancellationScope.nonCancellable(() => cancelTasks({ turnId: this.turnId })).catch(() => undefined);
  }

  #startClock(longWaitMs: number): void {
    if (!this.mayContinue || this.#hasClock) return;
    this.#hasClock = true;
    // It fails only when the workflow is cancelled.
    void this.#stopAfter(longWaitMs).catch(() => undefined);
  }

  async #stopAfter(longWaitMs: number): Promise<void> {
    do await sleep(longWaitMs);
    while (this.isBusy());
    if (this.#open.size === 0) {
      this.#hasClock = false;
      return;
    }
    this.isLong = true;
    this.askAgain();
  }
}
