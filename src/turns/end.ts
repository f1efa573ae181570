import { sql, type Sql } from '../db/sql.js';
import { newId } from '../platform/ids.js';
import type { TurnOutcome } from './outcome.js';
import { terminalData, TOTALS } from './totals.js';

/** What a statement writes that ends a turn. Its CTE of the turn's row after the write is `written`. */
export interface TurnEnd {
  /** Id of the terminal event. */
  id: string;
  /** Assignments to the turn's row. A recorded cancel request wins over another outcome. */
  set: Sql;
  /** Columns of the row that the other parts read, beside id, session_id and state. */
  columns: Sql;
  /** The CTEs of the end. */
  ctes: Sql;
  /** Selects the terminal event, for `insertEvents`. */
  event: Sql;
  /** Columns that the statement returns. */
  returned: Sql;
}

/** The parts of a statement that ends a turn, with `at` as the time of the write. */
export function endWith(outcome: TurnOutcome, written: Sql, at: Sql): TurnEnd {
  const id = newId('event');
  return {
    id,
    set: sql`state = CASE WHEN turns.cancel_requested_at IS NULL THEN ${outcome.kind} ELSE 'cancelled' END,
      ended_at = ${at}, transition_at = ${at},
      end_reason = CASE WHEN turns.cancel_requested_at IS NULL THEN ${reasonOf(outcome)} END`,
    columns: sql`${TOTALS}, cancel_requested_at`,
    // Mostly the session's state is that of the turn before, and nothing is written.
    ctes: sql`
      terminal AS (SELECT ${terminalData(outcome)} AS data FROM ${written}),
      closed AS (DELETE FROM open_turns USING ${written} AS ended WHERE turn_id = ended.id),
      dropped AS (
        UPDATE required_actions a SET state = 'cancelled' FROM ${written} AS ended
        WHERE a.turn_id = ended.id AND a.state IN ('planned', 'open')),
      shown AS (
        UPDATE session_states s SET state = ended.state FROM ${written} AS ended
        WHERE s.session_id = ended.session_id AND s.state <> ended.state)`,
    event: sql`SELECT ${id}, 'turn.' || state, (SELECT data FROM terminal) FROM ${written}`,
    returned: sql`(SELECT data::text FROM terminal) AS terminal,
      round(extract(epoch FROM ended_at - cancel_requested_at) * 1000)::bigint AS cancel_ms`,
  };
}

function reasonOf(outcome: TurnOutcome): string | null {
  switch (outcome.kind) {
    case 'completed':
      return outcome.stopReason;
    case 'failed':
      return outcome.type;
    case 'cancelled':
      return null;
  }
}
