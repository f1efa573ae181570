import { SPENT } from '../../db/money.js';
import { EXPIRES_AT, type WaitKind } from './wait-kind.js';

export interface TooDearCall {
  /** The max_cost at which the model call fits, as a decimal number; null if its model has no price. */
  needed: string | null;
}

const SPENT_BY_NOW = `(SELECT ${SPENT} FROM turns WHERE turns.id = w.turn_id)`;
const MAX_COST = `(SELECT budget->'max_cost' FROM sessions WHERE sessions.id = w.session_id)`;

/** A model call that does not fit into the session's budget (decisions.md "Money and models"). A PATCH of the session answers it. */
export const budget: WaitKind<TooDearCall, never> = {
  type: 'budget',
  action: `json_build_object('type', w.kind,
    'spent', json_build_object('amount', trim_scale(${SPENT_BY_NOW})::text, 'currency', ${MAX_COST}->'currency'),
    'max_cost', ${MAX_COST}, ${EXPIRES_AT})`,
  answers: {},
  resultOf: () => null,
  onExpiry: 'budget_reached',
  takenBy: 'workflow',
};
