import { sql } from '../db/sql.js';
import type { TurnState } from './states.js';
import { TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/**
 * Records the cancel request: a queued turn is cancelled at once, a running one is marked, so that the reconciler ends
 * it even while Temporal and every worker are away. Returns the turn's state, null when it had ended. Repeating the
 * request changes nothing.
 */
export async function requestCancel(deps: TurnDeps, turnId: string): Promise<TurnState | null> {
  const mark = sql`cancel_requested_at = coalesce(turns.cancel_requested_at, now.at)`;
  try {
    const { state } = await writeTurn(deps, turnId, { from: 'open' }, async (turn) =>
      turn.state === 'queued' ? { outcome: { kind: 'cancelled' } } : { set: [mark] },
    );
    return state;
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}
