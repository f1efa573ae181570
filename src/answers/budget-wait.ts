import { rawSql, runSql, sql } from '../db/sql.js';
import { actionsAnswered } from '../platform/metrics.js';
import { fits, type Budget } from '../sessions/budget.js';
import { endingWrite } from '../turns/finish.js';
import { BUDGET_REACHED } from '../turns/outcome.js';
import { runningMs, startClock, stopClock } from '../turns/totals.js';
import { running, type TurnDeps, type TurnTransaction } from '../turns/write.js';
import { NOW } from '../turns/append.js';
import { changeWait, waitWrite } from './change-wait.js';
import { requiresAction } from './elicitation.js';

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
  return changeWait(deps, turnId, async ({ tx, write }) => {
    const [session] = await runSql<{ budget: Budget | null }>(
      tx,
      sql`SELECT budget FROM sessions WHERE id = (SELECT session_id FROM turns WHERE id = ${turnId})`,
    );
    const { budget } = session!;
    if (budget === null || fits(budget, needed)) return true;
    if (budget.on_reached === 'stop') return false;
    const opened = await runSql<unknown>(
      tx,
      sql`INSERT INTO required_actions AS a (turn_id, step, index, session_id, kind, needed_cost, state, asked_at, expires_at)
          SELECT id, ${step}, -1, session_id, 'budget', ${needed}::numeric, 'open', now.at,
            now.at + ${timeoutSeconds}::double precision * interval '1 s'
          FROM turns, (SELECT clock_timestamp() AS at) AS now WHERE turns.id = ${turnId}
          ON CONFLICT (turn_id, step, index) DO UPDATE SET needed_cost = excluded.needed_cost, state = 'open',
            asked_at = excluded.asked_at, expires_at = excluded.expires_at, answered_at = NULL, taken_at = NULL
          WHERE a.state <> 'open'
          RETURNING index`,
    );
    if (opened.length > 0) await write(waitWrite(turnId, await requiresAction(tx, turnId), startClock('waiting', NOW)));
    return true;
  });
}

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
  const wait = await changeWait(deps, turnId, async ({ tx, write }) => {
    const row = sql`turn_id = ${turnId} AND step = ${step} AND kind = 'budget'`;
    const expired = await runSql<unknown>(
      tx,
      sql`WITH expired AS (
            UPDATE required_actions SET state = 'expired'
            WHERE ${row} AND state = 'open' AND expires_at <= clock_timestamp() RETURNING index)
          SELECT index FROM expired`,
    );
    if (expired.length > 0) {
      await write(endingWrite(deps, running(turnId), BUDGET_REACHED, [], false));
      return 'ended';
    }
    await runSql(
      tx,
      sql`UPDATE required_actions SET taken_at = clock_timestamp()
          WHERE ${row} AND answered_at IS NOT NULL AND taken_at IS NULL`,
    );
    const [read] = await runSql<{ expiresInMs: number | null; runningMs: number }>(
      tx,
      sql`SELECT ${rawSql(runningMs('turns'))} AS "runningMs", (
            SELECT ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000) FROM required_actions
            WHERE ${row} AND state = 'open')::double precision AS "expiresInMs"
          FROM turns WHERE id = ${turnId}`,
    );
    return read!;
  });
  if (wait === 'ended') actionsAnswered.inc({ answer: 'expired' });
  return wait;
}

/**
 * Answers a turn that waits for a larger budget with the session's new one, which the same transaction has stored under the lock of
 * the turn. Returns true if the turn goes on, or ends; the model call is checked again then.
 */
export async function answerBudgetWait(
  { tx, write }: Pick<TurnTransaction, 'tx' | 'write'>,
  turnId: string,
  budget: Budget | null,
): Promise<boolean> {
  const [open] = await runSql<{ needed: string | null }>(
    tx,
    sql`SELECT needed_cost::text AS needed FROM required_actions
        WHERE turn_id = ${turnId} AND kind = 'budget' AND state = 'open'`,
  );
  if (open === undefined) return false;
  const { needed } = open;
  const isOver = budget === null || budget.on_reached === 'stop' || needed === null || fits(budget, needed);
  if (isOver) {
    await runSql(
      tx,
      sql`UPDATE required_actions SET state = 'answered', answered_at = clock_timestamp()
          WHERE turn_id = ${turnId} AND kind = 'budget' AND state = 'open'`,
    );
  }
  await write(waitWrite(turnId, await requiresAction(tx, turnId), isOver ? stopClock('waiting', NOW) : null));
  return isOver;
}
