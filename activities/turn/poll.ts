import { loadRunningMs } from '../../src/turns/running-time.js';
import type { ActivityDeps } from '../deps.js';
import { runActivity } from './run-activity.js';
import type { PolledCalls, TurnActivities } from './turn-activities.js';
import { remainingMs } from './turn-clock.js';

type Poll = (calls: PolledCalls, signal: AbortSignal) => Promise<{ ended: number[]; isOverdue: boolean }>;

/** Asks for work that goes on without an activity. An attempt that finds nothing ended fails, with the pause before the next one. */
export function pollTasks(deps: ActivityDeps, poll: Poll): TurnActivities['pollTasks'] {
  return (calls) =>
    runActivity(
      deps,
      { turn_id: calls.turnId, step: calls.step },
      async (signal) => {
        const polled = await poll(calls, signal);
        return { ...polled, remainingMs: remainingMs(deps, await loadRunningMs(deps.db, calls.turnId)) };
      },
      { isPoll: true },
    );
}
