import { ApplicationFailure } from '@temporalio/common';
import { advanceStep } from '../../src/waits/advance.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { TURN_ENDED } from '../../workflows/contract.js';
import type { ActivityDeps } from '../deps.js';
import { remainingMs } from './turn-clock.js';
import type { TurnActivities } from './turn-activities.js';

/** Both are local activities, so that a turn that waits for days occupies no activity slot. */
export function advanceWait(deps: ActivityDeps): TurnActivities['advanceWait'] {
  return async ({ turnId, step }) => {
    try {
      const advanced = await advanceStep(deps, { turnId, step, of: 'calls' }, deps.config.actionTimeoutSeconds);
      if ('ended' in advanced) return null;
      const { runningMs, ready, open, expiresInMs } = advanced;
      return { ready, open, expiresInMs, remainingMs: remainingMs(deps, runningMs) };
    } catch (error) {
      if (error instanceof TurnEndedError) return null;
      throw error;
    }
  };
}

export function advanceBudget(deps: ActivityDeps): TurnActivities['advanceBudget'] {
  return async ({ turnId, step }) => {
    try {
      const advanced = await advanceStep(deps, { turnId, step, of: 'model' }, deps.config.actionTimeoutSeconds);
      if ('ended' in advanced) return { kind: 'ended', state: 'completed', stopReason: advanced.ended };
      const { modelWaits, expiresInMs, runningMs } = advanced;
      return { kind: modelWaits ? 'waits' : 'over', expiresInMs, remainingMs: remainingMs(deps, runningMs) };
    } catch (error) {
      if (!(error instanceof TurnEndedError)) throw error;
      throw ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
    }
  };
}
