import { sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { OvertakenError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** What stands for the earlier turns of a session from now on. */
export interface Summary {
  /** Number of the last turn that it stands for. */
  upTo: number;
  /** How many turns it summarises. */
  count: number;
  summary: string;
}

/** Stores a summary, unless another attempt has stored one already. */
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
