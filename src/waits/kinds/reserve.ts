import { ownersBudget, RESERVED_BY_TREE, SPENT } from '../../db/money.js';
import type { WaitKind } from './wait-kind.js';

export interface NeededReserve {
  /** What the model call may cost at most, as a decimal number; null: more than the whole budget leaves. */
  amount: string | null;
}

const MAX_COST = `(SELECT (${ownersBudget('s')}->'max_cost'->>'amount')::numeric FROM sessions s WHERE s.id = w.session_id)`;
const FITS = `(w.ask->>'amount')::numeric + (SELECT ${SPENT} FROM turns WHERE turns.id = w.turn_id) + (
  SELECT ${RESERVED_BY_TREE} FROM turns WHERE turns.id = w.turn_id) <= coalesce(${MAX_COST}, 'infinity')`;
const IS_FREE = `(SELECT ${RESERVED_BY_TREE} FROM turns WHERE turns.id = w.turn_id) = 0`;

/**
 * A model call of a child session that would fit into the budget of its parent if the calls under way cost less than they may
 * (decisions.md "Agents that call agents"). It is decided again when one of those has ended.
 */
export const reserve: WaitKind<NeededReserve, never> = {
  type: 'reserve',
  action: null,
  answers: {},
  settled: { when: `${IS_FREE} OR coalesce(${FITS}, ${MAX_COST} IS NULL)`, outcome: 'answered' },
  resultOf: () => null,
  onExpiry: 'close',
  takenBy: 'workflow',
};
