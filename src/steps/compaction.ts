import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';

interface Summary {
  /** Number of the last turn that it replaces. */
  upTo: number;
  count: number;
  summary: string;
}

const INSERT_SUMMARY = `
  INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING turn_number`;

/** Stores a summary, unless another attempt has stored one. */
export async function storeSummary(deps: TurnDeps, turnId: string, { upTo, count, summary }: Summary): Promise<void> {
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const stored = await tx.query<unknown[]>(INSERT_SUMMARY, [turn.sessionId, upTo, summary]);
    if (stored.length === 0) return turn.stayStill();
    turn.append({ type: 'agent.context_compacted', data: { compacted_turns: count } });
  });
}
