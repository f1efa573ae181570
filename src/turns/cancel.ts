import { sql } from '../db/sql.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { endingWrite } from './finish.js';
import { notifyCancel } from './running-turns.js';
import type { Turn } from '../db/entities/turns.js';
import type { TurnState } from '../db/turn-states.js';
import { TurnEndedError } from './turn.js';
import { changeTurn, open, type TurnDeps, type TurnWrite } from './write.js';

/**
 * Records the cancel request. A queued turn is cancelled at once; a running one is marked, so that the reconciler ends
 * it even while Temporal and every worker are away. Returns the turn's state, or null if it has ended. Repeating the
 * request changes nothing.
 */
export async function requestCancel(deps: TurnDeps, turnId: string): Promise<TurnState | null> {
  try {
    return await changeTurn(deps, turnId, async ({ lock, write }) => {
      const turn = await lock(open(turnId));
      if (turn.state === 'running') return (await write<Pick<Turn, 'state'>>(markWrite(turnId))).row.state;
      const { result } = await write(endingWrite(deps, open(turnId), { kind: 'cancelled' }, [], false));
      return result!.state;
    });
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

function markWrite(turnId: string): TurnWrite {
  return {
    statement: sql`
      WITH turn AS MATERIALIZED (
          SELECT id FROM turns WHERE ${open(turnId)} FOR NO KEY UPDATE),
        now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
        written AS (
          UPDATE turns SET cancel_requested_at = coalesce(turns.cancel_requested_at, now.at), progress_at = now.at
          FROM now WHERE turns.id = now.id
          RETURNING turns.id, state, cancel_requested_at),
        marked AS (
          UPDATE open_turns SET cancel_requested_at = written.cancel_requested_at
          FROM written WHERE turn_id = written.id)
      SELECT state FROM written`,
  };
}

/**
 * Cancels a turn: records the request and returns. A worker that runs an activity of the turn ends it, else its workflow does, else
 * the reconciler, which needs neither (docs/architecture.md "A cancel request").
 */
export async function cancelTurn(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
): Promise<void> {
  const state = await requestCancel(deps, turnId);
  if (state === null) return;
  const warn = (to: string) => (err: unknown) =>
    deps.log.warn({ err, turn_id: turnId }, `a cancel request did not reach ${to}; the reconciler ends the turn`);
  if (state === 'running') notifyCancel(deps.db, turnId).catch(warn('the workers'));
  deps.workflows.cancel(turnId).catch(warn('Temporal'));
}
