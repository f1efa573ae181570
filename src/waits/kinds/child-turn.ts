import type { WaitKind } from './wait-kind.js';

/** Turns that the calls of a turn have begun and that are open at a time (decisions.md "Agents that call agents"). */
export const MAX_OPEN_CHILDREN = 16;

export interface AwaitedChild {
  /** Null: the call waits for a place among the open child turns. */
  child_turn_id: string | null;
}

const HAS_ENDED = `NOT EXISTS (SELECT FROM open_turns o WHERE o.turn_id = w.ask->>'child_turn_id')`;
/** Calls get their places in their order. */
const HAS_PLACE = `(SELECT count(*) FROM open_turns o WHERE o.parent_turn_id = w.turn_id) + (
  SELECT count(*) FROM waits b
  WHERE b.turn_id = w.turn_id AND b.step = w.step AND b.index < w.index AND b.kind = 'child_turn' AND b.state = 'open'
    AND b.ask->>'child_turn_id' IS NULL) < ${MAX_OPEN_CHILDREN}`;

/** A call of an agent that waits until its turn has ended, or until it can begin one. The call then runs: it stores the outcome, or begins. */
export const childTurn: WaitKind<AwaitedChild, never> = {
  type: 'child_turn',
  action: null,
  answers: {},
  settled: {
    when: `CASE WHEN w.ask->>'child_turn_id' IS NULL THEN ${HAS_PLACE} ELSE ${HAS_ENDED} END`,
    outcome: 'answered',
  },
  resultOf: () => null,
  // The call looks again.
  onExpiry: 'close',
  takenBy: 'workflow',
};
