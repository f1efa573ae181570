import type { Tx } from '../db/db.js';
import type { TurnState } from '../db/turn-states.js';
import { notifyCancel } from './abortable-activities.js';
import { changeTurn, ifOpen, type TurnDeps } from './change-turn.js';
import { TurnEndedError } from './errors.js';
import { readFacts } from './facts.js';
import type { Turn } from './turn.js';

/**
 * Records the cancel request. A queued turn is cancelled at once; a running one is marked, so that the reconciler ends
 * it even while Temporal and every worker are away. Returns the turn's state, or null if it has ended. Repeating the
 * request changes nothing.
 * @param look reads what the request made, before the turn goes on
 */
export async function requestCancel(
  deps: TurnDeps,
  turnId: string,
  look: (tx: Tx, turn: Turn) => Promise<void> = () => Promise.resolve(),
): Promise<TurnState | null> {
  try {
    return await changeTurn(
      deps,
      turnId,
      ifOpen,
      async (turn, tx) => {
        if (turn.state === 'running') turn.requestCancel();
        else turn.end({ kind: 'cancelled' }, await readFacts(tx, turnId));
        return turn.state;
      },
      { afterSave: (turn, tx) => look(tx, turn) },
    );
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

/**
 * Passes a recorded request on to the workers and to Temporal, and returns: both may be away, and the reconciler needs neither.
 * @param state as `requestCancel` has returned it
 */
export function passCancelOn({ db, workflows, log }: TurnDeps, turnId: string, state: TurnState | null): void {
  const warn = (to: string) => (err: unknown) =>
    log.warn({ err, turn_id: turnId }, `a cancel request did not reach ${to}; the reconciler ends the turn`);
  if (state === 'running') notifyCancel(db, turnId).catch(warn('the workers'));
  workflows?.cancel?.(turnId).catch(warn('Temporal'));
}
