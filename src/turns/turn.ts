import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { Turn } from '../db/entities/turns.js';
import type { TurnState } from '../db/turn-states.js';

/** One attempt of an activity. Calls record it, so that it can be taken over when its worker dies. */
export interface ActivityTask {
  /** The worker's identity in Temporal. */
  workerId: string;
  /** Names the attempt in Temporal. No secret, but of no use to people: never logged. Null for a call ahead of its activity. */
  token: Uint8Array | null;
}

/** The turn has ended and accepts no more writes. */
export class TurnEndedError extends Error {
  /** `state` is null if the turn's row does not exist. */
  constructor(
    turnId: string,
    readonly state: TurnState | null = null,
  ) {
    super(`${turnId} has ended and takes no more writes`);
    this.name = 'TurnEndedError';
  }
}

/** The turn is open, but another attempt at the same work was first. The next attempt finds its outcome. */
export class OvertakenError extends Error {
  constructor(turnId: string) {
    super(`another attempt has written to ${turnId}`);
    this.name = 'OvertakenError';
  }
}

export async function findTurn(
  db: Db,
  sessionId: string,
  turnId: string,
): Promise<Pick<Turn, 'number' | 'state' | 'position'> | null> {
  const [turn] = await runSql<Pick<Turn, 'number' | 'state' | 'position'>>(
    db,
    sql`SELECT number, state, position FROM turns WHERE id = ${turnId} AND session_id = ${sessionId}`,
  );
  return turn ?? null;
}

/** The turn of this number of the session, if its message waited for the turn before. */
export async function findTurnFromQueue(
  db: Db,
  sessionId: string,
  number: number,
): Promise<Pick<Turn, 'id' | 'state'> | null> {
  const [turn] = await runSql<Pick<Turn, 'id' | 'state'>>(
    db,
    sql`SELECT id, state FROM turns WHERE session_id = ${sessionId} AND number = ${number} AND from_queue`,
  );
  return turn ?? null;
}
