import { cutOffMessage } from '../stream/frames.js';
import { ChildrenOpenError, closeCallsOfChildren, endChildren } from './children.js';
import { changeTurn, ifOpen, ifRunning, type TurnDeps } from './change-turn.js';
import { OvertakenError, TurnEndedError } from './errors.js';
import { readFacts } from './facts.js';
import type { TurnOutcome } from './outcome.js';

/**
 * Ends a turn as cancelled or failed, unless it has ended already. If this cuts off a message, the streamed part of it
 * is stored (decisions.md "Turns and events" `agent.message`). Turns that its calls have begun end first, as cancelled. `hasBegun`: the
 * work has begun although the turn is not claimed yet. Returns whether this call ended the turn.
 */
export async function endTurn(
  deps: TurnDeps,
  turnId: string,
  outcome: TurnOutcome,
  { hasBegun } = { hasBegun: false },
): Promise<boolean> {
  // A queued turn can be cancelled and can fail, but only a running one completes.
  const fence = outcome.kind === 'completed' ? ifRunning : ifOpen;
  try {
    await changeTurn(deps, turnId, fence, async (turn, tx) => {
      const facts = await readFacts(tx, turnId);
      if (turn.state === 'running') turn.append(...(await cutOffMessage(tx, turnId, turn.position)));
      if (facts.delegated !== null) turn.append(...(await closeCallsOfChildren(tx, turn, facts.delegated.open)));
      turn.end(outcome, facts, { hasBegun });
    });
    return true;
  } catch (error) {
    if (error instanceof ChildrenOpenError) {
      await endChildren(deps, error.turnIds, (id) => endTurn(deps, id, { kind: 'cancelled' }));
      return endTurn(deps, turnId, outcome, { hasBegun });
    }
    if (error instanceof TurnEndedError || error instanceof OvertakenError) return false;
    throw error;
  }
}
