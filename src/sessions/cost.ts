/** SQL for the sum of the costs of a turn's model calls, in the turn's currency; `condition` is about a call `a`. */
function costOfCalls(turn: string, condition: string): string {
  return `(SELECT coalesce(sum(a.cost), 0) FROM model_attempts a
    WHERE a.turn_id = ${turn}.id AND a.currency = ${turn}.currency AND ${condition})`;
}

/** SQL for what the model calls of a session have cost by now. `turn` is its open turn. */
export function spentBy(turn: string): string {
  return `(${turn}.cost_before + ${costOfCalls(turn, 'true')})`;
}

/** A call under way counts when it ends, when another one begins, or when the turn waits. */
const isOver = (waits: string): string => `(a.ended_at IS NOT NULL
  OR EXISTS (SELECT FROM model_attempts b WHERE b.turn_id = a.turn_id AND (b.position, b.attempt) > (a.position, a.attempt))
  OR ${waits})`;

/** SQL for what a session cost: the turns before its latest one `turn`, and that one. `waits`: whether it waits for an answer. */
export function costOfSession(turn: string, waits: string): string {
  return `coalesce(${turn}.cost_before + CASE WHEN ${turn}.ended_at IS NOT NULL THEN ${turn}.cost
    ELSE ${costOfCalls(turn, isOver(waits))} END, 0)`;
}
