import type { Tx } from '../db/db.js';
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
 * @param look reads what the request made, before the turn goes on
 */
export async function requestCancel(
  deps: TurnDeps,
  turnId: string,
  look: (tx: Tx) => Promise<void> = () => Promise.resolve(),
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
      (_turn, tx) => look(tx),
    );
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

/**
 * Cancels a turn: records the request and returns. A worker that runs an activity of the turn ends it, else its workflow does, else
 * the reconciler, which needs neither (docs/architecture.md "A cancel request"). Returns what `look` has read, or null if the turn
 * had ended: the answer to the request shows the state that it made, however soon the turn ends.
 */
export async function cancelTurn<T>(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
  look: (tx: Tx) => Promise<T>,
): Promise<T | null> {
  let seen: T | null = null;
  const state = await requestCancel(deps, turnId, async (tx) => {
    seen = await look(tx);
  });
  if (state === null) return null;
  const warn = (to: string) => (err: unknown) =>
    deps.log.warn({ err, turn_id: turnId }, `a cancel request did not reach ${to}; the reconciler ends the turn`);
  if (state === 'running') notifyCancel(deps.db, turnId).catch(warn('the workers'));
  deps.workflows.cancel(turnId).catch(warn('Temporal'));
  return seen;
}
