import { cutOffMessage } from '../stream/frames.js';
import { changeTurn, ifOpen, ifRunning, type TurnDeps } from './change-turn.js';
import { OvertakenError, TurnEndedError } from './errors.js';
import { readFacts } from './facts.js';
import type { TurnOutcome } from './outcome.js';

/**
 * Ends a turn as cancelled or failed, unless it has ended already. If this cuts off a message, the streamed part of it
 * is stored (decisions.md "Turns and events" `agent.message`). `hasBegun`: the work has begun although the turn is not claimed yet.
 * Returns whether this call ended the turn.
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
      if (turn.state === 'running') turn.append(...(await cutOffMessage(tx, turnId, turn.position)));
      turn.end(outcome, await readFacts(tx, turnId), { hasBegun });
    });
    return true;
  } catch (error) {
    if (error instanceof TurnEndedError || error instanceof OvertakenError) return false;
    throw error;
  }
}
