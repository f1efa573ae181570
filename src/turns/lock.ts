import type { EntityManager } from 'typeorm';
import type { TurnResult } from './outcome.js';
import { isOpen, type TurnState } from './states.js';

/** The row of a turn as a transaction that holds its lock sees it. */
export interface TurnRow {
  id: string;
  session_id: string;
  project_id: string;
  number: number;
  state: TurnState;
  position: number;
  cancel_requested_at: string | null;
  /** How this transaction ended it; `observeOutcome` tells it after the commit. */
  ended?: TurnResult;
}

/** The turn has ended: what a late writer brings is refused. */
export class TurnEndedError extends Error {
  constructor(turnId: string) {
    super(`${turnId} takes no more writes`);
    this.name = 'TurnEndedError';
  }
}

/** Another attempt at the same work was quicker, or the turn has ended: who looks again finds out which. */
export class OvertakenError extends Error {
  constructor(turnId: string) {
    super(`another attempt writes to ${turnId}`);
    this.name = 'OvertakenError';
  }
}

/** Locks a turn's row; null when there is none (its session was purged). */
export async function lockTurn(tx: EntityManager, turnId: string): Promise<TurnRow | null> {
  const [row]: TurnRow[] = await tx.query(
    `SELECT id, session_id, project_id, number, state, position, cancel_requested_at
     FROM turns WHERE id = $1 FOR NO KEY UPDATE`,
    [turnId],
  );
  return row ?? null;
}

/**
 * Locks a turn that may still be written to.
 * @throws TurnEndedError the fence against late writers
 */
export async function lockRunningTurn(tx: EntityManager, turnId: string): Promise<TurnRow> {
  const turn = await lockTurn(tx, turnId);
  if (turn === null || turn.state !== 'running') throw new TurnEndedError(turnId);
  return turn;
}

/** Locks a turn that is queued or running; null when it has ended. */
export async function lockOpenTurn(tx: EntityManager, turnId: string): Promise<TurnRow | null> {
  const turn = await lockTurn(tx, turnId);
  return turn !== null && isOpen(turn.state) ? turn : null;
}
