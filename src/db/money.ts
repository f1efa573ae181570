/**
 * SQL for an amount of money as JSON, a decimal number without an exponent or trailing zeros; null if a part of it had no
 * price. The arguments are SQL.
 */
export function moneyJson(amount: string, { isUnpriced, currency }: { isUnpriced: string; currency: string }): string {
  return `CASE WHEN NOT (${isUnpriced}) AND ${currency} IS NOT NULL
    THEN json_build_object('amount', trim_scale(${amount})::text, 'currency', ${currency}) END`;
}

/** SQL for the budget that the model calls of a session `session` count against: its own, or that of the parent of a child session. */
export function ownersBudget(session: string): string {
  return `(CASE WHEN ${session}.parent_session_id IS NULL THEN ${session}.budget
    ELSE (SELECT p.budget FROM sessions p WHERE p.id = ${session}.parent_session_id) END)`;
}

const callsOf = (turn: string): string => `(
  SELECT coalesce(sum(a.cost), 0) FROM model_calls a WHERE a.turn_id = ${turn}.id AND a.currency = ${turn}.currency)`;

/** SQL for what the turns that an open turn has begun by calls have cost by now, in its currency (src/turns/children). */
const delegatedBy = (turn: string): string => `(
  SELECT coalesce(sum(CASE WHEN child.ended_at IS NULL THEN ${callsOf('child')} ELSE child.cost END), 0)
  FROM delegations d JOIN turns child ON child.id = d.child_turn_id
  WHERE d.turn_id = ${turn}.id AND child.currency = ${turn}.currency)`;

const spentOf = (turn: string): string => `(${turn}.cost_before + ${callsOf(turn)} + ${delegatedBy(turn)})`;

/** Of the session and the turns that it has begun by calls. A turn that works on a call has the budget of the session that has called. */
const SPENT_BY_SESSION = `(CASE WHEN turns.parent_turn_id IS NULL THEN ${spentOf('turns')}
  ELSE (SELECT ${spentOf('caller')} FROM turns caller WHERE caller.id = turns.parent_turn_id) END)`;
const OWNER = `(CASE WHEN turns.parent_turn_id IS NULL THEN turns.session_id
  ELSE (SELECT caller.session_id FROM turns caller WHERE caller.id = turns.parent_turn_id) END)`;
const ofFamily = (withReserves: boolean): string => `coalesce((
  SELECT family_spent(m.family_id, coalesce(turns.parent_turn_id, turns.id), ${withReserves})
  FROM family_sessions m WHERE m.session_id = ${OWNER}), ${SPENT_BY_SESSION})`;

/**
 * SQL for what the model calls that count against the budget of an open turn `turns` have cost by now, in its currency: those of its
 * session and of the turns that it has begun by calls; with its copies, those of all of them (src/sessions/families).
 */
export const SPENT = ofFamily(false);
/** The same with what the calls under way of the other copies may cost at most. */
export const SPENT_OR_RESERVED = ofFamily(true);

/**
 * SQL for what the model calls under way of the siblings of a turn `turns` may cost beyond what they have reported. A call that another
 * one of its turn has followed is over. So is one whose turn waits to make it again: its worker has died.
 */
export const RESERVED_BY_TREE = `(
  SELECT coalesce(sum(greatest(a.reserved - coalesce(a.cost, 0), 0)), 0)
  FROM open_turns o JOIN turns sibling ON sibling.id = o.turn_id
    JOIN model_calls a ON a.turn_id = sibling.id AND a.call = sibling.model_calls AND a.ended_at IS NULL
  WHERE o.parent_turn_id = turns.parent_turn_id AND o.turn_id <> turns.id AND NOT EXISTS (
    SELECT FROM waits again WHERE again.turn_id = o.turn_id AND again.kind IN ('reserve', 'budget') AND again.state <> 'closed'))`;
