import type { EntityManager } from 'typeorm';
import { endLockedTurn } from './finish.js';
import { lockOpenTurn, type TurnRow } from './lock.js';

/**
 * The wish to cancel, in one transaction: a queued turn is cancelled at once, a running one is marked, so that the
 * sweep ends it even when Temporal and every worker are away. Returns the turn when anything changed or is to be
 * delivered, null when it has ended. Repeating it is safe.
 */
export async function requestCancel(tx: EntityManager, turnId: string): Promise<TurnRow | null> {
  const turn = await lockOpenTurn(tx, turnId);
  if (turn === null) return null;
  if (turn.state === 'queued') {
    await endLockedTurn(tx, turn, { kind: 'cancelled' });
  } else {
    await tx.query(
      'UPDATE turns SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()) WHERE id = $1',
      [turnId],
    );
  }
  return turn;
}
