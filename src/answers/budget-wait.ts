import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import { actionsAnswered } from '../platform/metrics.js';
import { fits, type Budget } from '../sessions/budget.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { readFacts } from '../turns/facts.js';
import { BUDGET_REACHED } from '../turns/outcome.js';
import { timing } from '../turns/timing.js';
import type { Turn } from '../turns/turn.js';
import { requiresAction } from './elicitation.js';

/** Each wait has a row: the first one of a step has the index -1, the next one -2. */
const OPEN_WAIT = `
  INSERT INTO required_actions (turn_id, step, index, session_id, kind, needed_cost, state, asked_at, expires_at)
  SELECT $1, $2::integer, coalesce(min(index), 0) - 1, $3, 'budget', $4::numeric, 'open', $5::timestamptz,
    $5::timestamptz + $6::double precision * interval '1 s'
  FROM required_actions WHERE turn_id = $1 AND step = $2 AND kind = 'budget'
  HAVING NOT coalesce(bool_or(state = 'open'), false)
  RETURNING index`;

/**
 * Lets a turn wait for a larger budget and asks for it, once. Returns false if the budget, as it is by now, says that the turn
 * ends. If the call fits by now, nothing is asked: the wait is over before it began.
 * @throws TurnEndedError
 */
export function openBudgetWait(
  deps: TurnDeps,
  { turnId, step }: { turnId: string; step: number },
  needed: string | null,
  timeoutSeconds: number,
): Promise<boolean> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [{ budget }] = await tx.query<[{ budget: Budget | null }]>('SELECT budget FROM sessions WHERE id = $1', [
      turn.sessionId,
    ]);
    if (budget !== null && !fits(budget, needed)) {
      if (budget.on_reached === 'stop') {
        turn.stayStill();
        return false;
      }
      const values = [turnId, step, turn.sessionId, needed, turn.at, timeoutSeconds];
      const opened = await tx.query<unknown[]>(OPEN_WAIT, values);
      if (opened.length > 0) {
        turn.append(...(await requiresAction(tx, turnId)));
        return true;
      }
    }
    turn.stayStill();
    return true;
  });
}

const EXPIRE = `
  UPDATE required_actions SET state = 'expired', closed_at = $3
  WHERE turn_id = $1 AND step = $2 AND kind = 'budget' AND state = 'open' AND expires_at <= $3`;
const TAKE = `
  UPDATE required_actions SET taken_at = $3
  WHERE turn_id = $1 AND step = $2 AND kind = 'budget' AND answered_at IS NOT NULL AND taken_at IS NULL`;
const EXPIRES_IN = `
  SELECT ceil(extract(epoch FROM expires_at - $3) * 1000)::double precision AS ms FROM required_actions
  WHERE turn_id = $1 AND step = $2 AND kind = 'budget' AND state = 'open'`;

/**
 * Takes over a changed budget. Returns when the wait expires, null if it is over. Ends the turn if it has expired. Safe to repeat
 * at any time, because the state is in the rows.
 * @throws TurnEndedError
 */
export async function advanceBudgetWait(
  deps: TurnDeps,
  turnId: string,
  step: number,
): Promise<{ expiresInMs: number | null; runningMs: number } | 'ended'> {
  const wait = await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const values = [turnId, step, turn.at];
    const [, expired] = await tx.query<[unknown, number]>(EXPIRE, values);
    if (expired > 0) {
      turn.end(BUDGET_REACHED, await readFacts(tx, turnId));
      return 'ended';
    }
    turn.stayStill();
    write(tx, TAKE, values);
    const [[open], facts] = await Promise.all([tx.query<{ ms: number }[]>(EXPIRES_IN, values), readFacts(tx, turnId)]);
    return { expiresInMs: open?.ms ?? null, runningMs: timing(turn.row, facts, turn.at).runningMs };
  });
  if (wait === 'ended') actionsAnswered.inc({ answer: 'expired' });
  return wait;
}

const NEEDED = `
  SELECT needed_cost::text AS needed FROM required_actions WHERE turn_id = $1 AND kind = 'budget' AND state = 'open'`;
const ANSWER = `
  UPDATE required_actions SET state = 'answered', answered_at = $2, closed_at = $2
  WHERE turn_id = $1 AND kind = 'budget' AND state = 'open'`;

/**
 * Answers a turn that waits for a larger budget with the session's new one, which the same transaction has stored under the lock of
 * the turn. Returns true if the turn goes on, or ends; the model call is checked again then.
 */
export async function answerBudgetWait(tx: Tx, turn: Turn, budget: Budget | null): Promise<boolean> {
  const [open] = await tx.query<{ needed: string | null }[]>(NEEDED, [turn.id]);
  if (open === undefined) {
    turn.stayStill();
    return false;
  }
  const { needed } = open;
  const isOver = budget === null || budget.on_reached === 'stop' || needed === null || fits(budget, needed);
  if (isOver) write(tx, ANSWER, [turn.id, turn.at]);
  turn.append(...(await requiresAction(tx, turn.id)));
  return isOver;
}
