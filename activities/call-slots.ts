import type { ActivitySlots } from './activity-slots.js';
import type { ActivityDeps } from './deps.js';
import { limitReached } from './limit-reached.js';
import type { FairQueue } from '../src/platform/fair-queue.js';

interface Needed {
  /** One slot of the tools' share of the worker, and one of all its slots: a call needs both. */
  queues: readonly FairQueue[];
  activitySlots: Pick<ActivitySlots, 'countWaiting'>;
}

/**
 * Runs a tool call in a slot of its project's tools and one of the worker.
 * @throws as `limitReached`, or the signal's reason
 */
export async function withCallSlots<T>(
  { slots, activitySlots }: Pick<ActivityDeps, 'slots' | 'activitySlots'>,
  toolPlaces: FairQueue,
  projectId: string,
  signal: AbortSignal,
  work: (callSlots: CallSlots) => Promise<T>,
): Promise<T> {
  if (!toolPlaces.tryTake(projectId)) limitReached();
  await slots.take(projectId, signal).catch((error: unknown) => {
    toolPlaces.free(projectId);
    throw error;
  });
  const callSlots = new CallSlots(projectId, { queues: [toolPlaces, slots], activitySlots });
  try {
    return await work(callSlots);
  } finally {
    callSlots.close();
  }
}

/**
 * The slots of a tool call, which it holds at first. It gives them back while it waits for a person, and takes slots again
 * to go on: then it waits for them rather than failing.
 */
export class CallSlots {
  #isHeld = true;
  #isPaused = false;
  #taking: { done: Promise<void>; stop: AbortController } | null = null;

  constructor(
    private readonly projectId: string,
    private readonly needed: Needed,
  ) {}

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.needed.activitySlots.countWaiting(1);
    this.#taking?.stop.abort(new Error('the call waits again'));
    this.#free();
  }

  /** @throws the signal's reason */
  async resume(signal: AbortSignal): Promise<void> {
    if (!this.#isPaused) return this.#taking?.done;
    this.#isPaused = false;
    const stop = new AbortController();
    const before = this.#taking?.done;
    const done = this.#take(before, AbortSignal.any([signal, stop.signal]))
      // Who asked for them needs none while the call waits again.
      .catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      })
      .finally(() => {
        if (this.#taking === taking) this.#taking = null;
      });
    const taking = { done, stop };
    this.#taking = taking;
    return done;
  }

  /** The call has ended. */
  close(): void {
    if (this.#isPaused) this.needed.activitySlots.countWaiting(-1);
    this.#isPaused = false;
    this.#taking?.stop.abort(new Error('the call has ended'));
    this.#free();
  }

  async #take(before: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    await before?.catch(() => undefined);
    const taken: FairQueue[] = [];
    try {
      for (const queue of this.needed.queues) {
        await queue.take(this.projectId, signal);
        taken.push(queue);
      }
      signal.throwIfAborted();
      this.#isHeld = true;
    } catch (error) {
      for (const queue of taken) queue.free(this.projectId);
      throw error;
    } finally {
      this.needed.activitySlots.countWaiting(-1);
    }
  }

  #free(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const queue of this.needed.queues) queue.free(this.projectId);
  }
}
