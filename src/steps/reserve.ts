import type { Tx } from '../db/db.js';
import { ownersBudget, RESERVED_BY_TREE, SPENT_OR_RESERVED } from '../db/money.js';
import { write } from '../db/transaction.js';
import { BudgetChangedError, requireUnspent, type Reserve } from '../sessions/budget.js';
import { lockFamilySpent } from '../sessions/families.js';
import type { Turn } from '../turns/turn.js';

/** Calls of other turns under way may cost what is left of the budget that a child turn shares with them: it is decided again when one has ended. */
export class BudgetReservedError extends Error {
  override readonly name = 'BudgetReservedError';
  /** @param amount what the call may cost at most, as a decimal number */
  constructor(readonly amount: string) {
    super('calls under way may cost what is left of the budget');
  }
}

/** The turn that has begun others by calls, and these: one tree, one lock. */
const LOCK_TREE = `SELECT pg_advisory_xact_lock(hashtextextended('budget ' || $1, 0))`;
/** A statement of its own: after a wait for the lock, it sees what the calls before have reserved. */
const READ_BUDGET = `
  SELECT (${ownersBudget('s')}->'max_cost'->>'amount')::numeric < ${SPENT_OR_RESERVED} + ${RESERVED_BY_TREE} + $2::numeric AS "isTooMuch",
    ${RESERVED_BY_TREE} > 0 AS "isReserved"
  FROM turns JOIN sessions s ON s.id = turns.session_id WHERE turns.id = $1`;

/**
 * Keeps what all calls under way may cost within the budget that they share: with the copies of the session (src/sessions/families), and
 * with the siblings of a child turn. The locks last until the transaction ends, so that one call at a time begins.
 * @throws BudgetReservedError
 * @throws BudgetChangedError if calls have cost what was left since the request was built
 */
export async function requireReserve(tx: Tx, turn: Turn, reserve: Reserve): Promise<void> {
  requireUnspent(reserve, await lockFamilySpent(tx, turn));
  if (turn.parentTurnId === null) return;
  write(tx, LOCK_TREE, [turn.parentTurnId]);
  const [found] = await tx.query<[{ isTooMuch: boolean | null; isReserved: boolean }]>(READ_BUDGET, [
    turn.id,
    reserve.amount,
  ]);
  if (found.isTooMuch !== true) return;
  throw found.isReserved ? new BudgetReservedError(reserve.amount) : new BudgetChangedError();
}
