import type { Db, Tx } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import { USABLE_CREDENTIAL } from '../db/usable-credential.js';
import { actionsAnswered } from '../platform/metrics.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { Turn } from '../turns/turn.js';
import type { EventRow } from '../events/store.js';

/** A call that waits until the session's user has authorized its server (contract.md §18). */
export type AuthorizationState = 'planned' | 'open' | 'authorized' | 'denied' | 'expired' | 'cancelled';

interface UnauthorizedCall {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  /** `started`: the server refused the credential, so it has not run the call. */
  state: 'pending' | 'started';
}

const LATEST = `
  SELECT n, state FROM authorization_waits WHERE turn_id = $1 AND step = $2 AND index = $3 ORDER BY n DESC LIMIT 1`;
const PLAN = `
  INSERT INTO authorization_waits (turn_id, step, index, n, session_id, tool_use_id, mcp_server_id, end_user)
  SELECT $1, $2, $3, $4, id, $5, $6, end_user FROM sessions WHERE id = $7`;
const MAKE_PENDING = `
  UPDATE tool_calls SET state = 'pending', holds_task = NULL, started_at = NULL, worker_id = NULL, task_token = NULL
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = 'started'`;

/**
 * Has a call wait for an authorization: it becomes pending again. The workflow opens the wait when the calls that need nothing
 * have run. May be repeated.
 * @throws TurnEndedError, OvertakenError
 */
export function planAuthorization(
  deps: TurnDeps,
  { turnId, step, index, toolUseId, state }: UnauthorizedCall,
  serverId: string,
): Promise<void> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const place = [turnId, step, index];
    const [latest] = await tx.query<{ n: number; state: AuthorizationState }[]>(LATEST, place);
    if (latest?.state !== 'planned' && latest?.state !== 'open')
      write(tx, PLAN, [...place, (latest?.n ?? 0) + 1, toolUseId, serverId, turn.sessionId]);
    if (state === 'started') write(tx, MAKE_PENDING, place);
  });
}

/** A wait of a step. `is_done`: its call has a result. */
export interface AuthorizationRow {
  index: number;
  state: AuthorizationState;
  is_done: boolean;
  expires_in_ms: number | null;
}

/** The waits `w` whose calls can go on: the user has a usable credential, or the server is gone, which the call then says. */
const CAN_GO_ON = `(EXISTS (
    SELECT FROM user_credentials c LEFT JOIN mcp_oauth o USING (id)
    WHERE c.mcp_server_id = w.mcp_server_id AND c.end_user = w.end_user AND ${USABLE_CREDENTIAL})
  OR NOT EXISTS (SELECT FROM mcp_servers s WHERE s.id = w.mcp_server_id AND s.deleted_at IS NULL))`;

const OF_STEP = 'w.turn_id = $1 AND w.step = $2';
const COUNT = `
  SELECT count(*)::integer AS all, (count(*) FILTER (WHERE state IN ('planned', 'open')))::integer AS waiting
  FROM authorization_waits w WHERE ${OF_STEP}`;
const AUTHORIZE = `
  UPDATE authorization_waits w SET state = 'authorized', closed_at = $3
  WHERE ${OF_STEP} AND state IN ('planned', 'open') AND ${CAN_GO_ON}`;
const EXPIRE = `
  UPDATE authorization_waits w SET state = 'expired', closed_at = $3
  WHERE ${OF_STEP} AND state = 'open' AND expires_at <= $3::timestamptz`;
const ASK = `
  UPDATE authorization_waits w
  SET state = 'open', asked_at = $3, expires_at = $3::timestamptz + $4::double precision * interval '1 s'
  WHERE ${OF_STEP} AND state = 'planned'`;
/** The reconciler does not signal again what is taken. */
const TAKE = `
  UPDATE authorization_waits w SET taken_at = $3 WHERE ${OF_STEP} AND closed_at IS NOT NULL AND taken_at IS NULL`;
const READ = `
  SELECT DISTINCT ON (index) index, w.state, c.state = 'done' AS is_done,
    extract(epoch FROM expires_at - $3::timestamptz)::double precision * 1000 AS expires_in_ms
  FROM authorization_waits w JOIN tool_calls c USING (turn_id, step, index) WHERE ${OF_STEP} ORDER BY index, n DESC`;

/**
 * Opens the planned waits of a step, ends those whose user has authorized the server, closes expired ones, and takes over what
 * has ended. Safe to repeat, because the state is in the rows. Returns the latest wait of each call of the step.
 */
export async function advanceAuthorizations(
  tx: Tx,
  turn: Pick<Turn, 'id' | 'at'>,
  step: number,
  timeoutSeconds: number,
): Promise<{ rows: AuthorizationRow[]; asked: boolean; expired: number; authorized: number }> {
  const [count] = await tx.query<[{ all: number; waiting: number }]>(COUNT, [turn.id, step]);
  const none = { rows: [], asked: false, expired: 0, authorized: 0 };
  if (count.all === 0) return none;
  const place = [turn.id, step, turn.at];
  const changed = async (statement: string, ...more: number[]): Promise<number> =>
    (await tx.query<[unknown, number]>(statement, [...place, ...more]))[1];
  const isWaiting = count.waiting > 0;
  // It begins after the wait was committed, so that it sees a credential whose own update of waits was too early.
  const authorized = isWaiting ? await changed(AUTHORIZE) : 0;
  const expired = isWaiting ? await changed(EXPIRE) : 0;
  const asked = isWaiting ? await changed(ASK, timeoutSeconds) : 0;
  await changed(TAKE);
  return { rows: await tx.query<AuthorizationRow[]>(READ, place), asked: asked > 0, expired, authorized };
}

/**
 * Ends the open waits whose user has authorized the server, in all sessions. Call it after the credential is committed: a wait
 * that is not stored yet then sees the credential by itself. Returns the turns whose workflows must be signalled.
 * @param of the credential's owner; without it, for all owners
 */
export async function endAuthorizedWaits(db: Db, of?: { serverId: string; user: string }): Promise<string[]> {
  const rows = await runSql<{ turn_id: string }>(
    db,
    sql`WITH due AS (
          SELECT turn_id, step, index, n FROM authorization_waits w
          WHERE state = 'open' AND (${of === undefined} OR w.mcp_server_id = ${of?.serverId ?? ''} AND w.end_user = ${of?.user ?? ''})
            AND ${rawSql(CAN_GO_ON)}
          ORDER BY turn_id, step, index, n FOR UPDATE SKIP LOCKED),
        ended AS (
          UPDATE authorization_waits w SET state = 'authorized', closed_at = clock_timestamp()
          FROM due WHERE (w.turn_id, w.step, w.index, w.n) = (due.turn_id, due.step, due.index, due.n) AND w.state = 'open'
          RETURNING w.turn_id)
        SELECT turn_id FROM ended`,
  );
  if (rows.length > 0) actionsAnswered.inc({ answer: 'authorized' }, rows.length);
  return [...new Set(rows.map(({ turn_id }) => turn_id))];
}

/** A wait that an answer names. */
export interface AuthorizationAction {
  turn_id: string;
  step: number;
  index: number;
  tool_use_id: string;
  kind: 'mcp_authorization';
  state: AuthorizationState;
  answer: EventRow | null;
}

const DENY = `
  UPDATE authorization_waits SET state = 'denied', answer_position = $5, closed_at = $4
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = 'open'`;

/** Closes an open wait with the answer of a person who does not want to authorize. False if it is open no more. */
export async function denyAuthorization(
  tx: Tx,
  { turn_id, step, index }: Pick<AuthorizationAction, 'turn_id' | 'step' | 'index'>,
  at: string,
  position: number,
): Promise<boolean> {
  const [, denied] = await tx.query<[unknown, number]>(DENY, [turn_id, step, index, at, position]);
  return denied > 0;
}
