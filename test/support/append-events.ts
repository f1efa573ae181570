import { sql } from '../../src/db/sql.js';
import type { NewEvent } from '../../src/events/schema.js';
import { insertEvents, newEvents } from '../../src/events/store.js';
import { running, type TurnWrite } from '../../src/turns/write.js';

/** A write that appends events to a running turn and changes nothing else. */
export function appendingWrite(turnId: string, newOnes: NewEvent[]): TurnWrite {
  const events = newEvents(newOnes);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer
        FROM turn WHERE turns.id = turn.id
        RETURNING turns.id, session_id, number, state, position, clock_timestamp() AS at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events };
}
