import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../db/sql.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { endingWrite, endTurn } from './finish.js';
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

/** Temporal answers in a few milliseconds. It is not a problem if a worker gets the cancel request first. */
const TEMPORAL_HEAD_START_MS = 50;
/** After this time without an end, this process ends the turn. */
const WORKER_GRACE_MS = 700;

/**
 * Cancels a turn: records the request and returns. Temporal and the workers that run its activities are notified after
 * that. If they do not end the turn in time, this process does, and otherwise the reconciler.
 */
export async function cancelTurn(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
): Promise<void> {
  const state = await requestCancel(deps, turnId);
  if (state === null) return;
  deliverCancel(deps, turnId, state === 'running').catch((err: unknown) =>
    deps.log.warn({ err, turn_id: turnId }, 'a cancel was not delivered; the reconciler tries again'),
  );
}

async function deliverCancel(
  deps: TurnDeps & { workflows: Pick<TurnWorkflows, 'cancel'> },
  turnId: string,
  isRunning: boolean,
): Promise<void> {
  const delivered = deps.workflows
    .cancel(turnId)
    .catch((err: unknown) => deps.log.warn({ err, turn_id: turnId }, 'a cancel request did not reach Temporal'));
  if (!isRunning) {
    // Its workflow may only be starting, and cannot be cancelled before.
    await sleep(WORKER_GRACE_MS);
    await deps.workflows.cancel(turnId);
    return;
  }
  await Promise.race([delivered, sleep(TEMPORAL_HEAD_START_MS)]);
  await notifyCancel(deps.db, turnId);
  await sleep(WORKER_GRACE_MS);
  await endTurn(deps, turnId, { kind: 'cancelled' });
}
