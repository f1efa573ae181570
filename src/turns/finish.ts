import { rawSql } from '../db/sql.js';
import { cutOffMessage } from '../events/frames.js';
import type { TurnOutcome } from './outcome.js';
import { OvertakenError, TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** A turn that has begun reports what it spent, be it nothing. */
const BEGUN = rawSql('started_at = coalesce(turns.started_at, now.at)');

/**
 * Ends a turn that was cancelled or has failed, unless it has ended already. A message that this cuts off is stored with
 * what was streamed of it (contract.md §3 `agent.message`). `hasBegun`: work on the turn has begun, though it was not
 * claimed yet. Returns whether this call ended the turn.
 */
export async function endTurn(
  deps: TurnDeps,
  turnId: string,
  outcome: TurnOutcome,
  { hasBegun } = { hasBegun: false },
): Promise<boolean> {
  try {
    await writeTurn(deps, turnId, { from: 'open' }, async (turn, tx) => ({
      events: turn.state === 'running' ? await cutOffMessage(tx, turn.id, turn.position) : [],
      outcome,
      set: hasBegun ? [BEGUN] : [],
    }));
    return true;
  } catch (error) {
    if (error instanceof TurnEndedError || error instanceof OvertakenError) return false;
    throw error;
  }
}
