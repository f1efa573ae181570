import { claimTurn } from '../../src/turns/claim.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import type { ActivityDeps } from '../deps.js';
import type { BegunTurn, TurnActivities } from './turn-activities.js';

/** Claims the turn. A local activity; it is retried while Postgres is unreachable. */
export function beginTurn(deps: ActivityDeps): TurnActivities['beginTurn'] {
  return async ({ turnId }): Promise<BegunTurn | null> => {
    try {
      const { model_id: modelId, mcp_servers, running_ms } = await claimTurn(deps, turnId);
      const { maxSteps, turnTimeoutSeconds } = deps.config;
      const remainingMs = Math.max(0, Math.round(turnTimeoutSeconds * 1000 - running_ms));
      return { modelId, mcpServers: mcp_servers.length, maxSteps, remainingMs };
    } catch (error) {
      if (error instanceof TurnEndedError) return null;
      throw error;
    }
  };
}
