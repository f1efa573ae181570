import type { ActivityDeps } from '../deps.js';
import { endTurnAfterLostWorkers, runActivity } from './run-activity.js';
import { runStep } from './run-step.js';
import type { TurnActivities } from './turn-activities.js';

/**
 * One step of a turn. The first one may have begun ahead: then this activity waits for it, and otherwise runs it. A retry
 * after the commit returns the stored outcome.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return (input) =>
    runActivity(deps, { turn_id: input.turnId, step: input.step }, async (signal, { task, lostWorkers }) => {
      endTurnAfterLostWorkers(lostWorkers);
      const ahead = input.step === 1 && !input.compacted ? await deps.ahead.join(input.turnId, task, signal) : null;
      if (ahead !== null) return ahead;
      return deps.slots.within(signal, () => runStep(deps, input, signal, task));
    });
}
