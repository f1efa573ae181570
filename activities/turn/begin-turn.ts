import { claimTurn } from '../../src/turns/claim.js';
import type { ActivityDeps } from '../deps.js';
import type { BegunTurn, TurnActivities } from './turn-activities.js';

/** Claims the turn (a local activity: its retries are for a Postgres that is away). */
export function beginTurn({ db, config }: ActivityDeps): TurnActivities['beginTurn'] {
  return async ({ turnId }): Promise<BegunTurn | null> => {
    const claimed = await claimTurn(db, turnId);
    return claimed === null
      ? null
      : {
          modelId: claimed.modelId,
          mcpServers: claimed.mcpServers,
          maxSteps: config.maxSteps,
          remainingMs: Math.max(0, config.turnTimeoutSeconds * 1000 - claimed.runningMs),
        };
  };
}
