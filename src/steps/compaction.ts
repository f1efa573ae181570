import { sql } from '../db/sql.js';
import { insertEvents, newEvents } from '../events/store.js';
import { OvertakenError } from '../turns/turn.js';
import { running, writeTurn, type TurnDeps } from '../turns/write.js';

interface Summary {
  /** Number of the last turn that it replaces. */
  upTo: number;
  count: number;
  summary: string;
}

/** Stores a summary, unless another attempt has stored one. */
export async function storeSummary(deps: TurnDeps, turnId: string, { upTo, count, summary }: Summary): Promise<void> {
  const events = newEvents([{ type: 'agent.context_compacted', data: { compacted_turns: count } }]);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id, session_id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      summary AS (
        INSERT INTO compactions (session_id, turn_number, summary)
        SELECT session_id, ${upTo}, ${summary} FROM turn
        ON CONFLICT DO NOTHING RETURNING clock_timestamp() AS at),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = summary.at
        FROM turn, summary WHERE turns.id = turn.id
        RETURNING turns.id, turns.session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  try {
    await writeTurn(deps, turnId, { statement, events });
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
  }
}
