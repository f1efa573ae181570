import type { Tx } from '../db/db.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { cancelChildren } from './children.js';
import type { TurnDeps } from './change-turn.js';
import { passCancelOn, requestCancel } from './request-cancel.js';

/**
 * Cancels a turn: records the request and returns. A worker that runs an activity of the turn ends it, else its workflow does, else
 * the reconciler, which needs neither (docs/architecture.md "A cancel request"). The turns that its calls have begun are cancelled with
 * it. Returns what `look` has read, or null if the turn had ended: the answer to the request shows the state that it made, however
 * soon the turn ends.
 */
export async function cancelTurn<T>(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
  look: (tx: Tx) => Promise<T>,
): Promise<T | null> {
  let seen: T | null = null;
  let hasChildren = false;
  const state = await requestCancel(deps, turnId, async (tx, turn) => {
    ({ hasChildren } = turn);
    seen = await look(tx);
  });
  if (state === null) return null;
  passCancelOn(deps, turnId, state);
  if (hasChildren) await cancelChildren(deps, turnId);
  return seen;
}
