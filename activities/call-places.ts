import type { ActivitySlots } from './activity-slots.js';
import type { FairQueue } from '../src/platform/fair-queue.js';

interface Queues {
  /** Places in the tools' share of the worker, and in its slots: a call needs both. */
  queues: readonly FairQueue[];
  activitySlots: Pick<ActivitySlots, 'countWaiting'>;
}

/**
 * The places of a tool call, which it holds at first. It gives them back while it waits for a person, and takes places again
 * to go on: then it waits for them rather than failing.
 */
export class CallPlaces {
  #isHeld = true;
  #isPaused = false;
  #taking: { done: Promise<void>; stop: AbortController } | null = null;

  constructor(
    private readonly projectId: string,
    private readonly places: Queues,
  ) {}

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.places.activitySlots.countWaiting(1);
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
    if (this.#isPaused) this.places.activitySlots.countWaiting(-1);
    this.#isPaused = false;
    this.#taking?.stop.abort(new Error('the call has ended'));
    this.#free();
  }

  async #take(before: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    await before?.catch(() => undefined);
    const taken: FairQueue[] = [];
    try {
      for (const queue of this.places.queues) {
        await queue.take(this.projectId, signal);
        taken.push(queue);
      }
      signal.throwIfAborted();
      this.#isHeld = true;
    } catch (error) {
      for (const queue of taken) queue.free(this.projectId);
      throw error;
    } finally {
      this.places.activitySlots.countWaiting(-1);
    }
  }

  #free(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const queue of this.places.queues) queue.free(this.projectId);
  }
}
