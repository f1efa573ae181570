import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { StopReason } from '../events/fields.js';
import { actionsAnswered } from '../platform/metrics.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';
import { readFacts } from '../turns/facts.js';
import { timing } from '../turns/timing.js';
import { kindOf } from './kinds/index.js';
import type { Outcome, WaitType } from './kinds/wait-kind.js';
import { IS_SETTLED, OUTCOME_SETTLED, settles } from './settled.js';
import { requiresAction, type WaitState } from './store.js';

export interface StepWait {
  /** Indices of the calls whose waits have ended, and that are not done. */
  ready: number[];
  /** Indices of the calls that still wait. */
  open: number[];
  /** How many calls wait for child turns, or for a place for one, and the ids of these turns; absent without any. */
  children?: { calls: number; turnIds: string[] };
  /** The model call of the step waits. */
  modelWaits: boolean;
  /** Time until the first of all of them expires; 0 without any. */
  expiresInMs: number;
  /** How long the turn has run, without the time it waited. */
  runningMs: number;
}

interface OpenRow {
  kind: WaitType;
  state: WaitState;
}

interface ClosedRow {
  kind: WaitType;
  outcome: Outcome;
  was_asked: boolean;
}

const CHILD_TURN: WaitType = 'child_turn';

interface Row {
  kind: WaitType;
  /** The turn of another agent that the call waits for. */
  child: string | null;
  /** Null: the model call. */
  index: number | null;
  state: WaitState;
  is_done: boolean;
  expires_in_ms: number | null;
}

/**
 * Asks for the planned waits of a step once, ends those that something other than an answer has ended, closes expired ones, and
 * takes over what has ended. Returns the stop reason instead if a wait that was not answered in time has ended the turn. Safe to repeat at
 * any time, because the state is in the rows.
 * @param of whose waits: without any of its calls, the tables were restored from a backup older than the workflow
 * @param timeoutSeconds how long a planned wait may last from now
 * @throws TurnEndedError
 */
export async function advanceStep(
  deps: TurnDeps,
  { turnId, step, of }: { turnId: string; step: number; of: 'calls' | 'model' },
  timeoutSeconds: number,
): Promise<StepWait | { ended: StopReason }> {
  const { closed, outcome } = await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const place = [turnId, step, turn.at];
    const open = await tx.query<OpenRow[]>(OPEN, [turnId, step]);
    // It begins after the waits were committed, so that it sees what ended them and was too early to close them.
    const settled = open.some(({ kind }) => settles(kind)) ? await close(tx, SETTLE, place) : [];
    const expired = open.some(({ state }) => state === 'open') ? await close(tx, EXPIRE, place) : [];
    const closed = [...settled, ...expired];
    const stopReason = stopReasonOnExpiry(expired.map(({ kind }) => kind));
    if (stopReason !== null) {
      turn.end({ kind: 'completed', stopReason }, await readFacts(tx, turnId));
      return { closed, outcome: { ended: stopReason } };
    }
    const planned = open.filter(({ state }) => state === 'planned');
    if (planned.length > settled.filter(({ was_asked }) => !was_asked).length) {
      write(tx, ASK, [...place, timeoutSeconds]);
      turn.append(...(await requiresAction(tx, turnId)));
    }
    write(tx, TAKE, place);
    const [rows, facts] = await Promise.all([tx.query<Row[]>(READ, place), readFacts(tx, turnId)]);
    if (rows.length === 0 && of === 'calls') throw new TurnEndedError(turnId);
    return { closed, outcome: waitOf(rows, timing(turn.row, facts, turn.at).runningMs) };
  });
  for (const { kind, outcome: answer } of closed) if (kindOf(kind).action !== null) actionsAnswered.inc({ answer });
  return outcome;
}

/** How a turn ends whose waits of these kinds have expired; null if it goes on. */
export function stopReasonOnExpiry(kinds: WaitType[]): StopReason | null {
  const outcomes = kinds.map((kind) => kindOf(kind).onExpiry);
  return outcomes.find((onExpiry) => onExpiry !== 'close') ?? null;
}

function waitOf(rows: Row[], runningMs: number): StepWait {
  const open = rows.filter(({ state }) => state === 'open');
  const ofChildren = open.filter(({ kind }) => kind === CHILD_TURN);
  const callsOf = (some: Row[]): number[] => some.flatMap(({ index }) => index ?? []);
  return {
    ready: callsOf(rows.filter(({ state, is_done }) => state === 'closed' && !is_done)),
    open: callsOf(open),
    ...(ofChildren.length > 0 && {
      children: { calls: ofChildren.length, turnIds: ofChildren.flatMap(({ child }) => child ?? []) },
    }),
    modelWaits: open.some(({ index }) => index === null),
    expiresInMs: open.length === 0 ? 0 : Math.ceil(Math.min(...open.map((row) => row.expires_in_ms!))),
    runningMs,
  };
}

async function close(tx: Tx, statement: string, place: unknown[]): Promise<ClosedRow[]> {
  const [rows] = await tx.query<[ClosedRow[], number]>(statement, place);
  return rows;
}

/** Those of calls that run, which go on by themselves, are left out. */
const OF_STEP = 'w.turn_id = $1 AND w.step = $2 AND NOT w.during_call';
const CLOSED = 'w.kind, w.outcome, w.asked_at IS NOT NULL AS was_asked';
const OPEN = `SELECT kind, state FROM waits w WHERE ${OF_STEP} AND state <> 'closed'`;
const SETTLE = `
  UPDATE waits w SET state = 'closed', outcome = ${OUTCOME_SETTLED}, closed_at = $3
  WHERE ${OF_STEP} AND state <> 'closed' AND ${IS_SETTLED} RETURNING ${CLOSED}`;
const EXPIRE = `
  UPDATE waits w SET state = 'closed', outcome = 'expired', closed_at = $3
  WHERE ${OF_STEP} AND state = 'open' AND expires_at <= $3::timestamptz RETURNING ${CLOSED}`;
const ASK = `
  UPDATE waits w
  SET state = 'open', asked_at = $3, expires_at = $3::timestamptz + $4::double precision * interval '1 s'
  WHERE ${OF_STEP} AND state = 'planned'`;
/** The reconciler does not signal again what is taken. */
const TAKE = `UPDATE waits w SET taken_at = $3 WHERE ${OF_STEP} AND state = 'closed' AND taken_at IS NULL`;
/** The latest wait of each call: one that waited for a person may wait for an authorization next. */
const READ = `
  SELECT DISTINCT ON (index) index, w.state, w.kind, w.ask->>'child_turn_id' AS child, coalesce(c.state = 'done', false) AS is_done,
    extract(epoch FROM expires_at - $3::timestamptz)::double precision * 1000 AS expires_in_ms
  FROM waits w LEFT JOIN tool_calls c USING (turn_id, step, index)
  WHERE ${OF_STEP} ORDER BY index, asked_at DESC NULLS FIRST, w.id DESC`;
