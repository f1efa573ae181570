import { sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { OvertakenError } from '../turns/turn.js';
import { writeTurn, type TurnDeps } from '../turns/write.js';

/** The summary that replaces the earlier turns of a session. */
interface Summary {
  /** Number of the last turn that it replaces. */
  upTo: number;
  /** Number of turns that it summarises. */
  count: number;
  summary: string;
}

/** Stores a summary, unless another attempt has stored one. */
export async function storeSummary(deps: TurnDeps, turnId: string, { upTo, count, summary }: Summary): Promise<void> {
  const guard = sql`
    INSERT INTO compactions (session_id, turn_number, summary) SELECT session_id, ${upTo}, ${summary} FROM turn
    ON CONFLICT DO NOTHING RETURNING turn_number`;
  const events: NewEvent[] = [{ type: 'agent.context_compacted', data: { compacted_turns: count } }];
  try {
    await writeTurn(deps, turnId, { from: 'running' }, { events, guard });
  } catch (error) {
    if (!(error instanceof OvertakenError)) throw error;
  }
}
