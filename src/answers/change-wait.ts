import { sql, type Sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import { changeTurn, running, type TurnDeps, type TurnTransaction, type TurnWrite } from '../turns/write.js';

interface WaitTransaction extends Pick<TurnTransaction, 'tx' | 'write'> {
  turn: Awaited<ReturnType<TurnTransaction['lock']>>;
}

/**
 * Changes what a running turn waits for, under the lock of its row: questions, answers, cancel requests and expiries exclude
 * each other.
 * @throws TurnEndedError
 */
export function changeWait<T>(
  deps: TurnDeps,
  turnId: string,
  work: (transaction: WaitTransaction) => Promise<T>,
): Promise<T> {
  return changeTurn(deps, turnId, async ({ tx, lock, write }) =>
    work({ tx, write, turn: await lock(running(turnId)) }),
  );
}

/** The time of a `waitWrite`, for the assignments of its clocks. */
export const NOW = sql`now.at`;

/** Appends events to a turn, and sets those of its clocks that start or stop with the change. */
export function waitWrite(turnId: string, newOnes: NewEvent[], clocks: Sql | null): TurnWrite {
  const events = newEvents(newOnes);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = now.at
          ${clocks === null ? sql`` : sql`, ${clocks}`}
        FROM now WHERE turns.id = now.id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events };
}
