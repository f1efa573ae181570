import { ApplicationFailure } from '@temporalio/common';
import { advanceBudgetWait } from '../../src/answers/budget-wait.js';
import { advanceWait as advance } from '../../src/answers/wait.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { TURN_ENDED } from '../../workflows/contract.js';
import type { ActivityDeps } from '../deps.js';
import { remainingMs } from './turn-clock.js';
import type { TurnActivities } from './turn-activities.js';

/** Both are local activities, so that a turn that waits for days occupies no activity slot. */
export function advanceWait(deps: ActivityDeps): TurnActivities['advanceWait'] {
  return async ({ turnId, step }) => {
    const { actionTimeoutSeconds } = deps.config;
    try {
      const { runningMs, ...wait } = await advance(deps, turnId, step, actionTimeoutSeconds);
      return { ...wait, remainingMs: remainingMs(deps, runningMs) };
    } catch (error) {
      if (error instanceof TurnEndedError) return null;
      throw error;
    }
  };
}

export function advanceBudget(deps: ActivityDeps): TurnActivities['advanceBudget'] {
  return async ({ turnId, step }) => {
    try {
      const wait = await advanceBudgetWait(deps, turnId, step);
      if (wait === 'ended') return { kind: 'ended', state: 'completed', stopReason: 'budget_reached' };
      const { expiresInMs, runningMs } = wait;
      return {
        kind: expiresInMs === null ? 'over' : 'waits',
        expiresInMs: expiresInMs ?? 0,
        remainingMs: remainingMs(deps, runningMs),
      };
    } catch (error) {
      if (!(error instanceof TurnEndedError)) throw error;
      throw ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
    }
  };
}
