import { TurnEndedError } from '../../src/turns/turn.js';
import { advanceWait as advance } from '../../src/answers/wait.js';
import type { ActivityDeps } from '../deps.js';
import { remainingMs } from './remaining.js';
import type { TurnActivities } from './turn-activities.js';

/** A local activity, so that a turn that waits for days occupies no activity slot. */
export function advanceWait(deps: ActivityDeps): TurnActivities['advanceWait'] {
  return async ({ turnId, step }) => {
    const { actionTimeoutSeconds, longWaitSeconds } = deps.config;
    try {
      const { runningMs, ...wait } = await advance(deps, turnId, step, actionTimeoutSeconds);
      return { ...wait, remainingMs: remainingMs(deps, runningMs), longWaitMs: longWaitSeconds * 1000 };
    } catch (error) {
      if (error instanceof TurnEndedError) return null;
      throw error;
    }
  };
}
