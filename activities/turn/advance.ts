import { ApplicationFailure } from '@temporalio/common';
import { advanceStep as advance } from '../../src/waits/advance.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { TURN_ENDED } from '../../workflows/contract.js';
import type { ActivityDeps } from '../deps.js';
import { remainingMs } from './turn-clock.js';
import type { TurnActivities } from './turn-activities.js';

/** A local activity, so that a turn that waits for days occupies no activity slot. */
export function advanceStep(deps: ActivityDeps): TurnActivities['advanceStep'] {
  return async (place) => {
    try {
      const advanced = await advance(deps, place, deps.config.actionTimeoutSeconds);
      if ('ended' in advanced) return { kind: 'ended', state: 'completed', stopReason: advanced.ended };
      const { runningMs, ...wait } = advanced;
      return { kind: 'waits', ...wait, remainingMs: remainingMs(deps, runningMs) };
    } catch (error) {
      if (!(error instanceof TurnEndedError)) throw error;
      throw ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
    }
  };
}
