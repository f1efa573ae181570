import { sql, type Sql } from '../db/sql.js';
import { insertEvents, newEvents } from '../events/store.js';
import type { NewEvent } from '../events/schema.js';
import { cutOffMessage } from '../stream/frames.js';
import { endWith } from './end.js';
import type { TurnOutcome } from './outcome.js';
import { OvertakenError, TurnEndedError } from './turn.js';
import { changeTurn, open, running, type TurnDeps, type TurnWrite } from './write.js';

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
  // A queued turn can be cancelled and can fail, but only a running one completes.
  const fence = outcome.kind === 'completed' ? running(turnId) : open(turnId);
  try {
    await changeTurn(deps, turnId, async ({ tx, lock, write }) => {
      const turn = await lock(fence);
      const events = turn.state === 'running' ? await cutOffMessage(tx, turnId, turn.position) : [];
      await write(endingWrite(deps, fence, outcome, events, hasBegun));
    });
    return true;
  } catch (error) {
    if (error instanceof TurnEndedError || error instanceof OvertakenError) return false;
    throw error;
  }
}

/** Ends a turn after these events. `hasBegun` makes its terminal event report usage, even if it is zero. */
export function endingWrite(
  deps: TurnDeps,
  fence: Sql,
  outcome: TurnOutcome,
  lastEvents: NewEvent[],
  hasBegun: boolean,
): TurnWrite {
  const events = newEvents(lastEvents);
  const end = endWith(outcome, deps, { written: sql`written`, at: sql`now.at` });
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${fence} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length + 1}::integer, progress_at = now.at, ${end.set},
          started_at = CASE WHEN ${hasBegun} THEN coalesce(turns.started_at, now.at) ELSE turns.started_at END
        FROM now WHERE turns.id = now.id
        RETURNING turns.id, session_id, number, state, position, at, ${end.columns}),
      ${end.ctes},
      ${insertEvents(sql`written`, events, end.event)}
    SELECT session_id, state, position, at, ${end.returned} FROM written`;
  return { statement, events, endId: end.id };
}
