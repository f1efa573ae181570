import { rawSql } from '../db/sql.js';
import { cutOffMessage } from '../stream/frames.js';
import type { TurnOutcome } from './outcome.js';
import { OvertakenError, TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** Marks the turn as begun, so that its terminal event reports usage, even if it is zero. */
const BEGUN = rawSql('started_at = coalesce(turns.started_at, now.at)');

/**
 * Ends a turn as cancelled or failed, unless it has ended already. If this cuts off a message, the streamed part of it
 * is stored (contract.md §3 `agent.message`). `hasBegun`: the work has begun although the turn is not claimed yet.
 * Returns whether this call ended the turn.
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
