import type { Tx } from '../db/db.js';
import { ownersBudget, RESERVED_BY_TREE } from '../db/money.js';
import { fits, type Budget, type Need } from '../sessions/budget.js';
import { write } from '../db/transaction.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';
import type { Turn } from '../turns/turn.js';
import type { TooDearCall } from './kinds/budget.js';
import type { NeededReserve } from './kinds/reserve.js';
import { closeWaits, openWait, requiresAction } from './store.js';

/** That of the parent in a child session. `isShared`: calls of other child turns may cost what is left. */
const BUDGET = `
  SELECT ${ownersBudget('s')} AS budget, EXISTS (SELECT FROM waits WHERE turn_id = $2 AND kind = 'budget' AND state = 'open') AS waits,
    t.parent_turn_id IS NOT NULL AND (SELECT ${RESERVED_BY_TREE} FROM turns WHERE id = t.id) > 0 AS "isShared"
  FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.id = $1 AND t.id = $2`;

interface BudgetRow {
  budget: Budget | null;
  waits: boolean;
  isShared: boolean;
}

/**
 * Lets a turn wait for a larger budget and asks for it, once. Returns false if the budget, as it is by now, says that the turn
 * ends. A child turn first waits until no other call may cost what is left. If the call fits by now, nothing is asked: the wait is
 * over before it began.
 * @throws TurnEndedError
 */
export function openBudgetWait(
  deps: TurnDeps,
  { turnId, step }: { turnId: string; step: number },
  need: Need | null,
  timeoutSeconds: number,
): Promise<boolean> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [{ budget, waits, isShared }] = await tx.query<[BudgetRow]>(BUDGET, [turn.sessionId, turnId]);
    const isTooSmall = budget !== null && !fits(budget, need?.needed ?? null);
    if (isTooSmall && isShared && need !== null) {
      await openReserveWait(tx, turn, step, { amount: null }, timeoutSeconds);
      return true;
    }
    // No budget is enough for a model without a price.
    const mustEnd = isTooSmall && (budget.on_reached === 'stop' || need === null);
    if (mustEnd || !isTooSmall || waits) {
      turn.stayStill();
      return !mustEnd;
    }
    const ask: TooDearCall = need ?? { needed: null };
    await openWait(tx, turn, step, { kind: 'budget', index: null, toolUseId: null, ask }, timeoutSeconds);
    return true;
  });
}

/**
 * Lets a model call of a child turn wait until calls of other child turns have ended, which may cost what is left of the budget.
 * @param amount what the call may cost at most, as a decimal number
 * @throws TurnEndedError
 */
export function waitForReserve(
  deps: TurnDeps,
  { turnId, step }: { turnId: string; step: number },
  amount: string,
  timeoutSeconds: number,
): Promise<void> {
  return changeTurn(deps, turnId, ifRunning, (turn, tx) => openReserveWait(tx, turn, step, { amount }, timeoutSeconds));
}

function openReserveWait(tx: Tx, turn: Turn, step: number, ask: NeededReserve, timeoutSeconds: number): Promise<void> {
  return openWait(tx, turn, step, { kind: 'reserve', index: null, toolUseId: null, ask }, timeoutSeconds);
}

const OPEN = `SELECT id, ask FROM waits WHERE turn_id = $1 AND kind = 'budget' AND state = 'open'`;

const SHOW_AGAIN = `UPDATE delegations SET shown_waits = '{}' WHERE child_turn_id = $1`;

/**
 * Answers a turn that waits for a larger budget with the session's new one, which the same transaction has stored under the lock of
 * the turn. Returns true if the turn goes on, or ends; the model call is checked again then.
 */
export async function answerBudgetWait(tx: Tx, turn: Turn, budget: Budget | null): Promise<boolean> {
  const [open] = await tx.query<{ id: string; ask: TooDearCall }[]>(OPEN, [turn.id]);
  if (open === undefined) {
    turn.stayStill();
    return false;
  }
  // In a child session whose parent has got another one. The parent shows the actions of its children again.
  if (turn.parentTurnId !== null) write(tx, SHOW_AGAIN, [turn.id]);
  const { needed } = open.ask;
  const isOver = budget === null || budget.on_reached === 'stop' || needed === null || fits(budget, needed);
  if (isOver) await closeWaits(tx, turn, [{ id: open.id, outcome: 'answered', position: null }]);
  turn.append(...(await requiresAction(tx, turn.id)));
  return isOver;
}

const WAITING_CHILDREN = `
  SELECT o.turn_id AS id, p.budget FROM open_turns o JOIN sessions p ON p.id = o.parent_session_id
  WHERE o.parent_turn_id = $1 AND EXISTS (SELECT FROM waits w WHERE w.turn_id = o.turn_id AND w.kind = 'budget' AND w.state = 'open')`;

/**
 * Answers the child turns of a turn that wait for a larger budget of its session, after that one is committed: no transaction locks two
 * turns. If the process dies first, a round of the reconciler ends their waits. Returns the turns that go on, or end.
 */
export async function answerBudgetWaitsOfChildren(deps: TurnDeps, parentTurnId: string): Promise<string[]> {
  const waiting = await deps.db.query<{ id: string; budget: Budget | null }[]>(WAITING_CHILDREN, [parentTurnId]);
  const over: string[] = [];
  for (const { id, budget } of waiting) {
    const isOver = await changeTurn(deps, id, ifRunning, (turn, tx) => answerBudgetWait(tx, turn, budget)).catch(
      (error: unknown) => {
        if (error instanceof TurnEndedError) return false;
        throw error;
      },
    );
    if (isOver) over.push(id);
  }
  return over;
}
