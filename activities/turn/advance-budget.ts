import { ApplicationFailure } from '@temporalio/common';
import { advanceBudgetWait } from '../../src/answers/budget-wait.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import { TURN_ENDED } from '../../workflows/contract.js';
import type { ActivityDeps } from '../deps.js';
import type { TurnActivities } from './turn-activities.js';

/** A local activity, as `advanceWait` is. */
export function advanceBudget(deps: ActivityDeps): TurnActivities['advanceBudget'] {
  return async ({ turnId, step }) => {
    const { turnTimeoutSeconds, longWaitSeconds } = deps.config;
    try {
      const wait = await advanceBudgetWait(deps, turnId, step);
      if (wait === 'ended') return { kind: 'ended', state: 'completed', stopReason: 'budget_reached' };
      const { expiresInMs, runningMs } = wait;
      const remainingMs = Math.max(0, Math.round(turnTimeoutSeconds * 1000 - runningMs));
      const kind = expiresInMs === null ? 'over' : 'waits';
      return { kind, expiresInMs: expiresInMs ?? 0, remainingMs, longWaitMs: longWaitSeconds * 1000 };
    } catch (error) {
      if (!(error instanceof TurnEndedError)) throw error;
      throw ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
    }
  };
}
