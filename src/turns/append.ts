import { sql, type Sql } from '../db/sql.js';
import { insertEvents, type EventToStore } from '../events/store.js';
import type { TurnWrite } from './write.js';

/** The time of an `appendWrite`, for its assignments. */
export const NOW = sql`now.at`;

/** Appends events to a turn, perhaps none, with further assignments to its row. */
export function appendWrite(fence: Sql, events: EventToStore[], set: Sql | null = null): TurnWrite {
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${fence} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = ${NOW}
          ${set === null ? sql`` : sql`, ${set}`}
        FROM now WHERE turns.id = now.id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events };
}
