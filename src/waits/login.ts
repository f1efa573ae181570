import type { Db } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import { actionsAnswered } from '../platform/metrics.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { MissingLogin } from './kinds/login.js';
import { CHECK_SOON, IS_SETTLED, OUTCOME_SETTLED } from './settled.js';
import { planWaits } from './store.js';

interface UnauthorizedCall {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  /** `started`: the server refused the credential, so it has not run the call. */
  state: 'pending' | 'started';
}

const STILL_WAITS = `
  SELECT EXISTS (SELECT FROM waits WHERE turn_id = $1 AND step = $2 AND index = $3 AND kind = 'mcp_authorization'
    AND state <> 'closed') AS waits, end_user FROM sessions WHERE id = $4`;
const MAKE_PENDING = `
  UPDATE tool_calls SET state = 'pending', holds_task = NULL, started_at = NULL, worker_id = NULL, task_token = NULL
  WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = 'started'`;

/**
 * Has a call wait for an authorization (decisions.md "User credentials"): it becomes pending again. The workflow opens the wait when the calls that
 * need nothing have run. May be repeated.
 * @throws TurnEndedError, OvertakenError
 */
export function planAuthorization(
  deps: TurnDeps,
  { turnId, step, index, toolUseId, state }: UnauthorizedCall,
  serverId: string,
): Promise<void> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const place = [turnId, step, index];
    const [{ waits, end_user }] = await tx.query<[{ waits: boolean; end_user: string }]>(STILL_WAITS, [
      ...place,
      turn.sessionId,
    ]);
    if (waits && state !== 'started') return turn.stayStill();
    const ask: MissingLogin = { mcp_server_id: serverId, end_user };
    if (!waits) planWaits(tx, turn, step, [{ kind: 'mcp_authorization', index, toolUseId, ask }]);
    if (state === 'started') write(tx, MAKE_PENDING, place);
  });
}

/**
 * Ends the open waits whose user has authorized the server, in all sessions. Call it after the credential is committed: a wait
 * that is not stored yet then sees the credential by itself. Returns the turns whose workflows must be signalled.
 * @param of the credential's owner; without it, for all owners
 */
export async function endAuthorizedWaits(db: Db, of?: { serverId: string; user: string }): Promise<string[]> {
  const owner =
    of === undefined
      ? rawSql('')
      : sql`AND (w.ask->>'mcp_server_id') COLLATE "C" = ${of.serverId} AND (w.ask->>'end_user') COLLATE "C" = ${of.user}`;
  const rows = await runSql<{ turn_id: string }>(
    db,
    sql`WITH due AS (
          SELECT turn_id, step, id FROM waits w
          WHERE w.kind = 'mcp_authorization' AND w.state = 'open' ${owner} AND ${rawSql(IS_SETTLED)}
          ORDER BY turn_id, step, id FOR UPDATE SKIP LOCKED),
        ended AS (
          UPDATE waits w SET state = 'closed', outcome = ${rawSql(OUTCOME_SETTLED)}, closed_at = clock_timestamp()
          FROM due WHERE (w.turn_id, w.step, w.id) = (due.turn_id, due.step, due.id) AND w.state = 'open'
          RETURNING w.turn_id),
        ${rawSql(CHECK_SOON)}
        SELECT turn_id FROM ended`,
  );
  if (rows.length > 0) actionsAnswered.inc({ answer: 'authorized' }, rows.length);
  return [...new Set(rows.map(({ turn_id }) => turn_id))];
}
