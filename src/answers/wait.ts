import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import { actionsAnswered } from '../platform/metrics.js';
import { requiresAction } from './elicitation.js';
import type { ActionState } from './actions.js';
import { advanceAuthorizations, type AuthorizationState } from './authorization-wait.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';
import { readFacts } from '../turns/facts.js';
import { timing } from '../turns/timing.js';

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
  state: ActionState | AuthorizationState;
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
  const { wait, expired, authorized } = await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const place = [turnId, step, turn.at];
    const states = await readStates(tx, turnId, step);
    const authorizations = await advanceAuthorizations(tx, turn, step, timeoutSeconds);
    if (states.size === 0 && authorizations.rows.length === 0) throw new TurnEndedError(turnId, turn.state);
    if (states.has('planned')) write(tx, ASK, [...place, timeoutSeconds]);
    if (states.has('planned') || authorizations.asked) turn.append(...(await requiresAction(tx, turnId)));
    const [, expired] = states.has('open') ? await tx.query<[unknown, number]>(EXPIRE, place) : [null, 0];
    write(tx, TAKE, place);
    const [rows, facts] = await Promise.all([tx.query<Row[]>(READ, place), readFacts(tx, turnId)]);
    // A call that waits for an authorization has been confirmed before.
    const others = rows.filter(({ index }) => !authorizations.rows.some((row) => row.index === index));
    const wait = waitOf([...others, ...authorizations.rows], timing(turn.row, facts, turn.at).runningMs);
    return { wait, expired: expired + authorizations.expired, authorized: authorizations.authorized };
  });
  actionsAnswered.inc({ answer: 'expired' }, expired);
  actionsAnswered.inc({ answer: 'authorized' }, authorized);
  return wait;
}

function waitOf(rows: Row[], runningMs: number): StepWait {
  const open = rows.filter(({ state }) => state === 'open');
  return {
    runningMs,
    ready: rows.filter(({ state, is_done }) => state !== 'open' && !is_done).map(({ index }) => index),
    open: open.map(({ index }) => index),
    expiresInMs: open.length === 0 ? 0 : Math.ceil(Math.min(...open.map((row) => row.expires_in_ms!))),
  };
}

async function readStates(tx: Tx, turnId: string, step: number): Promise<Set<ActionState>> {
  const rows = await tx.query<{ state: ActionState }[]>(STATES, [turnId, step]);
  return new Set(rows.map(({ state }) => state));
}

const STATES = `SELECT DISTINCT state FROM required_actions WHERE turn_id = $1 AND step = $2 AND kind <> 'budget'`;
const ASK = `
  UPDATE required_actions
  SET state = 'open', asked_at = $3, expires_at = $3::timestamptz + $4::double precision * interval '1 s'
  WHERE turn_id = $1 AND step = $2 AND kind <> 'budget' AND state = 'planned'`;
const EXPIRE = `
  UPDATE required_actions SET state = 'expired', closed_at = $3
  WHERE turn_id = $1 AND step = $2 AND kind <> 'budget' AND state = 'open' AND expires_at <= $3`;
/** The reconciler does not signal answers again that are taken. */
const TAKE = `
  UPDATE required_actions SET taken_at = $3
  WHERE turn_id = $1 AND step = $2 AND kind <> 'budget' AND answered_at IS NOT NULL AND taken_at IS NULL`;
const READ = `
  SELECT index, a.state, c.state = 'done' AS is_done,
    extract(epoch FROM expires_at - $3)::double precision * 1000 AS expires_in_ms
  FROM required_actions a JOIN tool_calls c USING (turn_id, step, index)
  WHERE turn_id = $1 AND step = $2 AND kind <> 'budget' ORDER BY index`;
