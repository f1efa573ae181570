import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { Lease } from '../db/lease.js';
import { takeOver } from '../workers/takeover.js';
import { repeat } from '../platform/repeat.js';
import { endTurn } from '../turns/finish.js';
import type { ReconcileDeps } from './deps.js';
import { STALE_TURN, type StaleTurn } from './repair.js';
import { reconcileAll, reconcileStale } from './stale-turns.js';
import { createPartitions, dropOldPartitions } from '../stream/delta-partitions.js';
import { notifyCancel } from '../turns/running-turns.js';

const PARALLEL = 8;
/** A cancel that has not ended its turn is delivered again after the first time, and the turn is ended here after the second. */
const CANCEL_REDELIVERED_SECONDS = 1.5;
const CANCEL_OVERDUE_SECONDS = 4;
/** Temporal's list of closed workflows lags behind, so each round reads the last minute. Turns that have ended are skipped. */
const CLOSED_LOOKBACK_MS = 60_000;

const INTERVALS_MS = { takeOver: 500, cancels: 1000, stale: 2000, closed: 3000, schedules: 3000, partitions: 15_000 };

/**
 * Keeps open turns moving: starts workflows that never started or vanished, delivers cancels, ends turns whose workflow is
 * gone, reassigns the activities of crashed workers, creates and drops the partitions of deltas, and brings Temporal's schedules
 * in line with the tables. Only the process that holds the lease does it. Returns a function that stops after the rounds under way.
 */
export function startReconciler(
  deps: ReconcileDeps & { reconcileSchedules: () => Promise<void> },
  leader: Lease,
): () => Promise<void> {
  /** `round` may return when the next one is due, if that is sooner. */
  const each = (intervalMs: number, round: () => Promise<number | null | void>): (() => Promise<void>) =>
    repeat(intervalMs, async () => {
      try {
        return Math.min(intervalMs, (leader.isHeld ? await round() : null) ?? intervalMs);
      } catch (err) {
        deps.log.warn({ err }, 'a round of the reconciler failed; the next one tries again');
        return intervalMs;
      }
    });
  // Separate loops, so that a Temporal that is away does not delay those that need only Postgres.
  const stops = [
    each(INTERVALS_MS.stale, async () => ((await reconcileStale(deps)) ? 0 : null)),
    each(INTERVALS_MS.closed, () => reconcileClosed(deps)),
    each(INTERVALS_MS.schedules, deps.reconcileSchedules),
    each(INTERVALS_MS.cancels, () => cancelOverdue(deps)),
    each(INTERVALS_MS.partitions, async () => {
      await createPartitions(deps.db);
      await dropOldPartitions(deps.db);
    }),
    each(INTERVALS_MS.takeOver, () => takeOver(deps, leader)),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
    await leader.release();
  };
}

/** Ends turns soon after an operator terminated their workflow, or it failed or timed out. */
async function reconcileClosed(deps: ReconcileDeps): Promise<void> {
  const ids = await deps.workflows.listFailed(new Date(Date.now() - CLOSED_LOOKBACK_MS));
  if (ids.length === 0) return;
  const turns = await runSql<StaleTurn>(
    deps.db,
    sql`${STALE_TURN} WHERE turns.id = ANY(${ids}::text[]) AND namespace = ${deps.workflows.namespace}`,
  );
  await reconcileAll(deps, turns);
}

/** Delivers cancel requests again that have not ended their turn, and ends the turns that no worker has cancelled. */
export async function cancelOverdue(deps: ReconcileDeps): Promise<void> {
  const { db, workflows, log, count } = deps;
  const overdue = await runSql<{ id: string; is_overdue: boolean }>(
    db,
    sql`SELECT turn_id AS id, cancel_requested_at < statement_timestamp() - ${CANCEL_OVERDUE_SECONDS}::float * interval '1 s' AS is_overdue
        FROM open_turns WHERE namespace = ${workflows.namespace}
          AND cancel_requested_at < statement_timestamp() - ${CANCEL_REDELIVERED_SECONDS}::float * interval '1 s'`,
  );
  await pLimit(PARALLEL).map(overdue, async ({ id, is_overdue }) => {
    try {
      if (is_overdue && (await endTurn(deps, id, { kind: 'cancelled' }))) {
        count('cancelled');
        log.warn({ turn_id: id }, 'the reconciler cancelled a turn that no worker cancelled');
      } else if (!is_overdue) {
        await notifyCancel(db, id);
        count('cancel_delivered');
      }
    } catch (err) {
      log.warn({ err, turn_id: id }, 'a turn could not be cancelled; the next round tries again');
    }
    // Not awaited, because Temporal may be away.
    workflows
      .cancel(id)
      .catch((err: unknown) => log.warn({ err, turn_id: id }, 'a cancel request did not reach Temporal'));
  });
}
