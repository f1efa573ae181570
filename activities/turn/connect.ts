import { recordConnected } from '../../src/steps/connect.js';
import { claimTurn } from '../../src/turns/begin.js';
import type { ActivityDeps } from '../deps.js';
import { runActivity } from './run-activity.js';
import type { TurnActivities } from './turn-activities.js';

/**
 * Claims the turn, has the sources of its tools get ready, and records what they have found. Later changes take effect from the
 * next turn.
 */
export function connectMcpServers(deps: ActivityDeps): TurnActivities['connectMcpServers'] {
  return ({ turnId, agents = 0 }) =>
    runActivity(deps, { turn_id: turnId }, async (signal, { lostWorkers }) => {
      const turn = { id: turnId, agents, ...(await claimTurn(deps, turnId)) };
      if (turn.isConnected) return;
      const began = performance.now();
      const attempt = { signal, lostWorkers };
      const begun = await Promise.all(deps.toolSources.flatMap((source) => source.begin?.(turn, attempt) ?? []));
      await recordConnected(deps, turnId, {
        events: begun.flatMap(({ events }) => events),
        store: async (tx) => {
          for (const one of begun) await one.store(tx);
        },
        tookMs: Math.round(performance.now() - began),
      });
    });
}
