import { changeTurn, ifOpen, type TurnDeps } from './change-turn.js';
import type { Turn } from './turn.js';

/**
 * Claims a turn for running: queued → running. A running turn stays as it is (a retry, a replay, a reset). The workflow
 * id is the turn id, so only one workflow runs a turn.
 * @throws TurnEndedError
 */
export function claimTurn(
  deps: TurnDeps,
  turnId: string,
): Promise<Pick<Turn, 'projectId' | 'sessionId' | 'isConnected'>> {
  return changeTurn(deps, turnId, ifOpen, (turn) => {
    turn.claim();
    const { projectId, sessionId, isConnected } = turn;
    return { projectId, sessionId, isConnected };
  });
}
