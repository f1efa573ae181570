import { ActivityCancellationType, CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { PolledTasks, TurnActivities } from '../activities/turn/turn-activities.js';
import { GroupPoll } from './group-poll.js';
import type { WaitsFor } from './waits-for.js';

const POLL_OPTIONS = {
  // Of an attempt, which asks once, or goes on for as long as it reads results. A task's own limit is in the activity.
  startToCloseTimeout: '1 hour',
  // A poll whose worker dies is repeated after this time at the latest: no call records it for the reconciler to take over.
  heartbeatTimeout: '90 s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 s', backoffCoefficient: 1 },
} as const;
/** decisions.md "Tasks and elicitation": how long `tasks/cancel` is tried. */
const CANCEL_TIMEOUT = '30 s';

const { cancelTasks } = proxyActivities<TurnActivities>({
  scheduleToCloseTimeout: CANCEL_TIMEOUT,
  retry: { initialInterval: '1 s', backoffCoefficient: 1.5, maximumInterval: '5 s' },
  summary: 'cancel the tasks of the turn',
});

export interface PolledCall {
  step: number;
  index: number;
  tool: string;
  /** Tasks of one group are asked for together. */
  group: string;
}

/** The calls of a turn whose work goes on without an activity, and is asked for: tasks of MCP servers. */
export class PolledCalls {
  /** The calls whose tasks have not ended. */
  readonly #open = new Set<number>();
  readonly #polls = new Map<string, GroupPoll>();
  #cancels: Promise<void>[] = [];

  constructor(
    private readonly turnId: string,
    private readonly waitsFor: WaitsFor,
  ) {}

  /** Waits until the call has the result of its task. */
  async wait(call: PolledCall): Promise<PolledTasks> {
    const { index } = call;
    this.#open.add(index);
    this.waitsFor.task(true);
    const polled = await this.#pollOf(call).wait(index);
    this.#open.delete(index);
    this.waitsFor.task(this.#open.size > 0);
    return polled;
  }

  #pollOf({ step, tool, group }: PolledCall): GroupPoll {
    const key = `${step} ${group}`;
    const poll = this.#polls.get(key) ?? new GroupPoll((indices) => this.#poll(step, indices, tool));
    this.#polls.set(key, poll);
    return poll;
  }

  async #poll(step: number, indices: number[], tool: string): Promise<PolledTasks> {
    const { pollTasks } = proxyActivities<TurnActivities>({ ...POLL_OPTIONS, summary: `tasks of ${tool}` });
    const polled = await pollTasks({ turnId: this.turnId, step, indices });
    if (polled.isOverdue) this.#cancels.push(this.#cancelOnServers());
    return polled;
  }

  /** Answers to questions of servers may have come: asks for the tasks at once, which passes the answers on. */
  askAgain(): void {
    for (const poll of this.#polls.values()) poll.askAgain();
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
