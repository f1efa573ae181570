import type { FairQueue } from '../src/platform/fair-queue.js';

/** Whose slot it is does not count, only who waits. */
const ANY_PROJECT = '';

/**
 * Runs the work of an activity in a slot of the process (`WORKER_MAX_ACTIVITIES`); waits for one in the line of its project while others
 * have them. Temporal hands out no more activities than there are slots, but calls that go on after a person's answer take slots too.
 * @throws the signal's reason
 */
export async function withinSlot<T>(
  slots: FairQueue,
  projectOf: () => Promise<string>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  return slots.tryWithin(ANY_PROJECT, work) ?? slots.within(await projectOf(), work, signal);
}
