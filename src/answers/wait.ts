import type { EntityManager } from 'typeorm';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { actionsAnswered } from '../platform/metrics.js';
import { NOW } from '../turns/append.js';
import { changeWait, waitWrite } from './change-wait.js';
import { requiresAction } from './elicitation.js';
import type { ActionState } from './actions.js';
import { runningMs, startClock } from '../turns/totals.js';
import { TurnEndedError } from '../turns/turn.js';
import type { TurnDeps } from '../turns/write.js';

export interface StepWait {
  /** Indices of the calls that are answered or expired but not done. */
  ready: number[];
  /** Indices of the calls that still wait. */
  open: number[];
  /** Time until the first of them expires; 0 without any. */
  expiresInMs: number;
  /** How long the turn has run, without the time it waited. */
  runningMs: number;
}

interface Row {
  index: number;
  state: ActionState;
  is_done: boolean;
  expires_in_ms: number | null;
}

/**
 * Opens the actions of a step once, closes expired ones, and takes over new answers. Safe to repeat at any time,
 * because the state is in the rows.
 * @throws TurnEndedError also if the tables lack the step: they were restored from a backup older than the workflow
 */
export async function advanceWait(
  deps: TurnDeps,
  turnId: string,
  step: number,
  timeoutSeconds: number,
): Promise<StepWait> {
  const { wait, expired } = await changeWait(deps, turnId, async ({ tx, turn, write }) => {
    const states = await readStates(tx, turnId, step);
    if (states.size === 0) throw new TurnEndedError(turnId, turn.state);
    const asked = states.has('planned') ? await ask(tx, turnId, step, timeoutSeconds) : [];
    const expired = states.has('open') ? await expire(tx, turnId, step) : 0;
    const wait = await readWait(tx, turnId, await take(tx, turnId, step));
    await write(waitWrite(turnId, asked, asked.length === 0 ? null : startClock('waiting', NOW)));
    return { wait, expired };
  });
  actionsAnswered.inc({ answer: 'expired' }, expired);
  return wait;
}

async function readWait(tx: EntityManager, turnId: string, rows: Row[]): Promise<StepWait> {
  const [turn] = await runSql<Pick<StepWait, 'runningMs'>>(
    tx,
    sql`SELECT ${rawSql(runningMs('turns'))} AS "runningMs" FROM turns WHERE id = ${turnId}`,
  );
  const open = rows.filter(({ state }) => state === 'open');
  return {
    runningMs: turn!.runningMs,
    ready: rows.filter(({ state, is_done }) => state !== 'open' && !is_done).map(({ index }) => index),
    open: open.map(({ index }) => index),
    expiresInMs: open.length === 0 ? 0 : Math.ceil(Math.min(...open.map((row) => row.expires_in_ms!))),
  };
}

const OF_STEP = (turnId: string, step: number) =>
  sql`a.turn_id = ${turnId} AND a.step = ${step} AND a.kind <> 'budget'`;

async function readStates(tx: EntityManager, turnId: string, step: number): Promise<Set<ActionState>> {
  const rows = await runSql<{ state: ActionState }>(
    tx,
    sql`SELECT DISTINCT state FROM required_actions a WHERE ${OF_STEP(turnId, step)}`,
  );
  return new Set(rows.map(({ state }) => state));
}

async function ask(tx: EntityManager, turnId: string, step: number, timeoutSeconds: number): Promise<NewEvent[]> {
  await runSql(
    tx,
    sql`UPDATE required_actions a SET state = 'open', asked_at = now.at,
          expires_at = now.at + ${timeoutSeconds}::double precision * interval '1 s'
        FROM (SELECT clock_timestamp() AS at) AS now WHERE ${OF_STEP(turnId, step)} AND a.state = 'planned'`,
  );
  return requiresAction(tx, turnId);
}

async function expire(tx: EntityManager, turnId: string, step: number): Promise<number> {
  const rows = await runSql<unknown>(
    tx,
    sql`WITH expired AS (
          UPDATE required_actions a SET state = 'expired'
          WHERE ${OF_STEP(turnId, step)} AND a.state = 'open' AND expires_at <= clock_timestamp() RETURNING index)
        SELECT index FROM expired`,
  );
  return rows.length;
}

/**
 * Marks the answers as taken, so that the reconciler does not signal them again, and reads every action of the step.
 */
async function take(tx: EntityManager, turnId: string, step: number): Promise<Row[]> {
  await runSql(
    tx,
    sql`UPDATE required_actions a SET taken_at = clock_timestamp()
        WHERE ${OF_STEP(turnId, step)} AND answered_at IS NOT NULL AND taken_at IS NULL`,
  );
  return runSql<Row>(
    tx,
    sql`SELECT index, a.state, c.state = 'done' AS is_done,
          extract(epoch FROM expires_at - clock_timestamp())::double precision * 1000 AS expires_in_ms
        FROM required_actions a JOIN tool_calls c USING (turn_id, step, index)
        WHERE ${OF_STEP(turnId, step)} ORDER BY index`,
  );
}
