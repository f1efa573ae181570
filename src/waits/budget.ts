import type { Tx } from '../db/db.js';
import { fits, type Budget, type Need } from '../sessions/budget.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { Turn } from '../turns/turn.js';
import type { TooDearCall } from './kinds/budget.js';
import { closeWaits, openWait, requiresAction } from './store.js';

const BUDGET = `
  SELECT budget, EXISTS (SELECT FROM waits WHERE turn_id = $2 AND kind = 'budget' AND state = 'open') AS waits
  FROM sessions WHERE id = $1`;

/**
 * Lets a turn wait for a larger budget and asks for it, once. Returns false if the budget, as it is by now, says that the turn
 * ends. If the call fits by now, nothing is asked: the wait is over before it began.
 * @throws TurnEndedError
 */
export function openBudgetWait(
  deps: TurnDeps,
  { turnId, step }: { turnId: string; step: number },
  need: Need | null,
  timeoutSeconds: number,
): Promise<boolean> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [{ budget, waits }] = await tx.query<[{ budget: Budget | null; waits: boolean }]>(BUDGET, [
      turn.sessionId,
      turnId,
    ]);
    const isTooSmall = budget !== null && !fits(budget, need?.needed ?? null);
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

const OPEN = `SELECT id, ask FROM waits WHERE turn_id = $1 AND kind = 'budget' AND state = 'open'`;

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
  const { needed } = open.ask;
  const isOver = budget === null || budget.on_reached === 'stop' || needed === null || fits(budget, needed);
  if (isOver) await closeWaits(tx, turn, [{ id: open.id, outcome: 'answered', position: null }]);
  turn.append(...(await requiresAction(tx, turn.id)));
  return isOver;
}
