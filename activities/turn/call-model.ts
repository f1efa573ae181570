import type { ActivityDeps } from '../deps.js';
import { loadProjectId } from '../../src/steps/context.js';
import { reachBudget } from './budget.js';
import { withFallback } from './fall-back.js';
import { endTurnAfterLostWorkers, runActivity } from './run-activity.js';
import { runStep } from './run-step.js';
import type { ModelCallOutcome, TurnActivities } from './turn-activities.js';

/**
 * One step of a turn. A retry after the commit returns the stored outcome.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return (input) =>
    runActivity(
      deps,
      { turn_id: input.turnId, step: input.step },
      async (signal, { task, lostWorkers }): Promise<ModelCallOutcome> => {
        endTurnAfterLostWorkers(lostWorkers);
        const outcome = await withFallback(deps, input.turnId, async (isAgain) => {
          // Another model may have a smaller context.
          const step = isAgain ? { ...input, compacted: false } : input;
          const projectOf = (): Promise<string> => loadProjectId(deps.db, input.turnId);
          return deps.slots.within(projectOf, signal, () => runStep(deps, step, signal, task));
        });
        if (outcome.kind !== 'budget') return outcome;
        return reachBudget(deps, input, outcome.needed);
      },
    );
}
