import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { readFacts } from './facts.js';
import { notifyCancel } from './abortable-activities.js';
import type { TurnState } from '../db/turn-states.js';
import { changeTurn, ifOpen, type TurnDeps } from './change-turn.js';
import { TurnEndedError } from './errors.js';

/**
 * Records the cancel request. A queued turn is cancelled at once; a running one is marked, so that the reconciler ends
 * it even while Temporal and every worker are away. Returns the turn's state, or null if it has ended. Repeating the
 * request changes nothing.
 */
export async function requestCancel(deps: TurnDeps, turnId: string): Promise<TurnState | null> {
  try {
    return await changeTurn(deps, turnId, ifOpen, async (turn, tx) => {
      if (turn.state === 'running') turn.requestCancel();
      else turn.end({ kind: 'cancelled' }, await readFacts(tx, turnId));
      return turn.state;
    });
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

/**
 * Cancels a turn: records the request and returns. A worker that runs an activity of the turn ends it, else its workflow does, else
 * the reconciler, which needs neither (docs/architecture.md "A cancel request").
 */
export async function cancelTurn(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
): Promise<void> {
  const state = await requestCancel(deps, turnId);
  if (state === null) return;
  const warn = (to: string) => (err: unknown) =>
    deps.log.warn({ err, turn_id: turnId }, `a cancel request did not reach ${to}; the reconciler ends the turn`);
  if (state === 'running') notifyCancel(deps.db, turnId).catch(warn('the workers'));
  deps.workflows.cancel(turnId).catch(warn('Temporal'));
}
