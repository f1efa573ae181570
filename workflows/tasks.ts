import { ActivityCancellationType, CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import type { EndedTask, TurnActivities } from '../activities/turn/turn-activities.js';
import { SharedPolls } from './shared-polls.js';
import type { WaitsFor } from './waits-for.js';

const POLL_OPTIONS = {
  // An attempt asks once: its time limit is that of fetching a large result. A task's own limit is in the activity.
  startToCloseTimeout: '1 hour',
  // A poll whose worker dies is repeated after this time at the latest: no call records it for the reconciler to take over.
  heartbeatTimeout: '90 s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 s', backoffCoefficient: 1 },
} as const;
/** Results of tasks that are read in parallel, as many as tool calls run in parallel. */
const PARALLEL_RESULTS = 16;
/** contract.md §11: how long `tasks/cancel` is tried. */
const CANCEL_TIMEOUT = '30 s';

const { cancelTasks } = proxyActivities<TurnActivities>({
  scheduleToCloseTimeout: CANCEL_TIMEOUT,
  retry: { initialInterval: '1 s', backoffCoefficient: 1.5, maximumInterval: '5 s' },
  summary: 'cancel the tasks of the turn',
});

export interface WaitingTask {
  step: number;
  index: number;
  tool: string;
  serverId: string;
}

export class TaskWaits {
  /** The calls whose tasks have not ended. */
  readonly #open = new Set<number>();
  readonly #shared = new Map<string, SharedPolls>();
  readonly #scopes = new Set<CancellationScope>();
  #cancels: Promise<void>[] = [];
  /** Tasks that have ended and whose results are read. */
  #ending = 0;

  constructor(
    private readonly turnId: string,
    private readonly waitsFor: WaitsFor,
  ) {}

  async wait(call: WaitingTask): Promise<EndedTask> {
    const { index } = call;
    this.#open.add(index);
    this.waitsFor.task(true);
    if ((await this.#pollTogether(call)) === 'asking') return this.#pollAlone(call);
    const isFree = (): boolean => this.#ending < PARALLEL_RESULTS;
    while (!isFree()) await condition(isFree);
    this.#ending += 1;
    return this.#pollAlone(call).finally(() => (this.#ending -= 1));
  }

  #pollTogether({ step, index, tool, serverId }: WaitingTask): ReturnType<SharedPolls['wait']> {
    const { turnId } = this;
    const { pollTasks } = proxyActivities<TurnActivities>({ ...POLL_OPTIONS, summary: `tasks of ${tool}` });
    const key = `${step} ${serverId}`;
    const shared = this.#shared.get(key) ?? new SharedPolls((indices) => pollTasks({ turnId, step, indices }));
    this.#shared.set(key, shared);
    return shared.wait(index);
  }

  async #pollAlone({ step, index, tool }: WaitingTask): Promise<EndedTask> {
    const { turnId } = this;
    const { pollTask } = proxyActivities<TurnActivities>({ ...POLL_OPTIONS, summary: `task of ${tool}` });
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
}
