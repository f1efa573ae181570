import { ownersBudget, SPENT, SPENT_OR_RESERVED } from '../../db/money.js';
import { EXPIRES_AT, type WaitKind } from './wait-kind.js';

export interface TooDearCall {
  /** The max_cost at which the model call fits, as a decimal number; null if its model has no price. */
  needed: string | null;
  /** What the call itself needs of it; absent in waits of earlier versions. */
  own?: string;
}

const SPENT_BY_NOW = `(SELECT ${SPENT} FROM turns WHERE turns.id = w.turn_id)`;
const BUDGET = `(SELECT ${ownersBudget('s')} FROM sessions s WHERE s.id = w.session_id)`;
const MAX_COST = `(${BUDGET}->'max_cost')`;
/** A PATCH of the session that has called a child session answers it too, unless the process dies between the two. */
const ALLOWS_IT = `coalesce(${BUDGET}->>'on_reached' = 'stop' OR (w.ask->>'needed')::numeric <= (${MAX_COST}->>'amount')::numeric,
  ${BUDGET} IS NULL)`;

/** SQL that is true for a wait `w` whose call fits by now, or whose budget is gone or ends the turn. */
export const FITS_BY_NOW = `EXISTS (
  SELECT FROM sessions s WHERE s.id = w.session_id AND (s.budget IS NULL OR s.budget->>'on_reached' = 'stop'
    OR (s.budget->'max_cost'->>'amount')::numeric >= (w.ask->>'own')::numeric
      + (SELECT ${SPENT_OR_RESERVED} FROM turns WHERE turns.id = w.turn_id)))`;

/** A model call that does not fit into the session's budget (decisions.md "Money and models"). A PATCH of the session answers it. */
export const budget: WaitKind<TooDearCall, never> = {
  type: 'budget',
  action: `json_build_object('type', w.kind,
    'spent', json_build_object('amount', trim_scale(${SPENT_BY_NOW})::text, 'currency', ${MAX_COST}->'currency'),
    'max_cost', ${MAX_COST}, ${EXPIRES_AT})`,
  answers: {},
  settled: { when: ALLOWS_IT, outcome: 'answered' },
  resultOf: () => null,
  onExpiry: 'budget_reached',
  takenBy: 'workflow',
};
