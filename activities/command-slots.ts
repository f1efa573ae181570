import { workspaceCallsWaiting } from '../src/platform/metrics.js';
import { FairQueue } from '../src/platform/fair-queue.js';
import type { ActivitySlots } from './activity-slots.js';
import { ConcurrencyLimit } from './concurrency-limit.js';

/** Calls of a project that wait in one process. Temporal tries a further one later, maybe on another worker. */
const MAX_WAITING_PER_PROJECT = 100;

interface Waits {
  signal: AbortSignal;
  activitySlots: Pick<ActivitySlots, 'countWaiting'>;
  /** Sends fewer heartbeats until the returned function runs. */
  rest: () => () => void;
}

/**
 * The sandboxes that a worker may have at once (`SANDBOX_MAX_COMMANDS`), half of them, but at least one, for one project. A call
 * takes its slot before it is recorded as started and before it takes a slot of the worker's tools.
 */
export class CommandSlots {
  readonly #slots: FairQueue;
  readonly #waiting = new ConcurrencyLimit({ perProject: MAX_WAITING_PER_PROJECT });

  constructor(total: number) {
    this.#slots = new FairQueue({ total, perProject: Math.max(1, Math.floor(total / 2)) });
  }

  /**
   * Runs a call in a slot of its project. While it waits for one it holds no slot of Temporal's.
   * @throws ApplicationFailure `ConcurrencyLimitReached`: too many calls wait; the signal's reason
   */
  async within<T>(projectId: string, waits: Waits, work: () => Promise<T>): Promise<T> {
    if (!this.#slots.tryTake(projectId)) await this.#waiting.within(projectId, () => this.#wait(projectId, waits));
    try {
      return await work();
    } finally {
      this.#slots.free(projectId);
    }
  }

  async #wait(projectId: string, { signal, activitySlots, rest }: Waits): Promise<void> {
    const goOn = rest();
    activitySlots.countWaiting(1);
    workspaceCallsWaiting.inc();
    try {
      await this.#slots.take(projectId, signal);
    } finally {
      workspaceCallsWaiting.dec();
      activitySlots.countWaiting(-1);
      goOn();
    }
  }
}
