import { workspaceCallsWaiting } from '../src/platform/metrics.js';
import { FairQueue } from '../src/platform/fair-queue.js';
import type { ActivitySlots } from './activity-slots.js';
import { limitReached } from './limit-reached.js';
import type { CommandPlaces } from './tools/built-in/workspace/kind.js';

/** Calls of a project that wait in one process. Temporal tries a further one later, maybe on another worker. */
const MAX_WAITING_PER_PROJECT = 100;

/**
 * The sandboxes that a worker may have at once (`SANDBOX_MAX_COMMANDS`), half of them, but at least one, for one project. While a call
 * waits for its place it holds no slot of Temporal's. If too many wait, or at the signal, the call fails before it begins.
 */
export function openCommandPlaces(total: number, activitySlots: Pick<ActivitySlots, 'countWaiting'>): CommandPlaces {
  const places = new FairQueue({ total, perProject: Math.max(1, Math.floor(total / 2)) });
  const waiting = new FairQueue({ perProject: MAX_WAITING_PER_PROJECT });

  const wait = async ({ turn, signal, beatSlowly }: Parameters<CommandPlaces['within']>[0]): Promise<void> => {
    const goOn = beatSlowly();
    activitySlots.countWaiting(1);
    workspaceCallsWaiting.inc();
    try {
      await places.take(turn.projectId, signal);
    } finally {
      workspaceCallsWaiting.dec();
      activitySlots.countWaiting(-1);
      goOn();
    }
  };
  return {
    async within(run, work) {
      const { projectId } = run.turn;
      if (!places.tryTake(projectId)) await (waiting.tryWithin(projectId, () => wait(run)) ?? limitReached());
      try {
        return await work();
      } finally {
        places.free(projectId);
      }
    },
  };
}
